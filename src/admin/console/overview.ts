import type { AlertsStatus } from '../../devices/alerts.ts'
import { type Sentence, say, tell, term } from '../../language/sentence.ts'
import type { Channel } from '../../messages/message.ts'
import type { Summary } from '../../outbox/outbox.ts'
import { DAY, describeEnd, FACT_KINDS, type Fact, firstLines, listFacts } from '../facts.ts'
import type { ChannelHealth } from '../service-health.ts'
import type { ServiceView } from '../service-view.ts'
import { type DestinationView, type ProviderView, readProviders, readSummaryIfUp } from '../status/status.ts'
import { CHANNEL_NAMES, periodOf, renderFigures } from './figures.ts'
import { clockTime, describeReply, formatDuration, type Html, html, timeElement } from './html.ts'
import type { ConsoleOptions, ConsolePage, PageRequest, PageResponse } from './page.ts'
import { LIVE_MS } from './page.ts'

export const overviewPages: readonly ConsolePage[] = [
  { method: 'GET', path: '/console', menu: say('Overview'), handle: showOverview },
]

/** The whole picture on one page: first what is wrong, then who has to do with it, then the figures. */
async function showOverview({ query }: PageRequest, options: ConsoleOptions): Promise<PageResponse> {
  const { view } = options
  const now = view.now()
  const period = periodOf(query['period'])
  const summary = await readSummaryIfUp(view, now - period.lengthMs)
  const readOf = (ms: number) => (period.lengthMs === ms ? summary : readSummaryIfUp(view, now - ms))
  const [day, hour] = [await readOf(DAY), await readOf(DAY / 24)]
  const causes = firstLines(view, day)
  const devices = view.deviceAlerts()
  const about = causes.map(cause => `${cause.level} ${cause.about}`).join(', ')
  const content = html`<ul class="causes" aria-label="${say('Condition')}" data-causes="${about}">${causes.map(causeLine)}</ul>
${recipientSearch}
<div class="cards">
<section class="card">${providerList(view, await readProviders(view), now)}</section>
<section class="card">${platform(options, hour)}</section>
<section class="card">${house(view, summary, now)}</section>
${devices === null ? '' : devicesCard(devices)}
</div>
${renderFigures(summary, period, view.channels)}`
  return { is: 'page', content, liveMs: LIVE_MS }
}

/** The question that is asked most, where every visit begins. */
const recipientSearch = html`<form class="row find" method="post" action="/console/messages"><label>${say('A customer did not get the code? Recipient, in full')}<input name="recipient" required autocomplete="off" spellcheck="false" placeholder="${say('name@example.com or +86…')}"></label><button class="main">${say('Find')}</button></form>`

function causeLine({ level, text }: Fact): Html {
  return html`<li class="${level}">${level === 'fail' ? html`<strong>${say('Failing:')}</strong> ` : level === 'warn' ? html`<strong>${say('Look:')}</strong> ` : ''}${text}</li>`
}

function providerList(view: ServiceView, providers: readonly ProviderView[], now: number): Html {
  const facts = listFacts(view)
  return html`<h2>${say('Providers')}</h2>${providers.map(
    each => html`${
      each.since === null
        ? html`<p>${say('{provider}: nothing sent yet.', { provider: each.provider })}</p>`
        : html`<p><span class="state ${each.up && each.partialFaults.length === 0 ? 's-sent' : 's-unknown'}">${say(!each.up ? 'fails' : each.partialFaults.length === 0 ? 'works' : 'works in part')}</span> <strong>${each.provider}</strong> <span class="soft">${say('for {time}', { time: formatDuration(now - each.since) })}</span></p>
<dl class="small"><dt>${say('Last accepted')}</dt><dd>${timeElement(each.lastSentAt)}</dd>
${deliveredLines(view, each)}<dt>${say('Last error')}</dt><dd>${each.lastError === null ? say('none') : html`${timeElement(each.lastError.at)}<br>${describeReply(each.lastError)}`}</dd></dl>`
    }
<p class="small soft">${concurrencyLine(each)}${each.destinations.filter(isSlow).map(line => html`<br>${destinationLine(line, now)}`)}${facts.filter(isBeside(each)).map(({ text }) => html`<br>${text}`)}</p>`,
  )}`
}

/** How long until the phone, by the whole of a carrier and its countries. */
function deliveredLines({ deliveryTimes }: ServiceView, { provider }: ProviderView): Html | '' {
  const own = deliveryTimes().filter(each => each.provider === provider)
  if (own.length === 0) return ''
  const lines = own.map(({ country, latestMs, usualMs }) =>
    say('{where}: {took} ({usual} usual)', {
      where: country || say('all countries'),
      took: formatDuration(latestMs),
      usual: usualMs === null ? '–' : formatDuration(usualMs),
    }),
  )
  return html`<dt>${say('Delivered after')}</dt><dd>${lines.map(line => html`${line}<br>`)}</dd>`
}

/** A destination that is worth a line: something waits for it, or it rests. */
const isSlow = ({ waiting, restsUntil }: DestinationView): boolean => waiting > 0 || restsUntil !== null

function destinationLine(
  { place, inFlight, waiting, oldestAt, restsUntil, why }: DestinationView,
  now: number,
): Sentence {
  const values = {
    place: place ?? say('elsewhere'),
    inFlight,
    waiting,
    oldest:
      oldestAt === null || oldestAt > now
        ? ''
        : say(', the first due for {time}', { time: formatDuration(now - oldestAt) }),
    rest:
      restsUntil === null || restsUntil <= now
        ? ''
        : say('; {why} ({time} left)', {
            time: formatDuration(restsUntil - now),
            why: tell(why ?? ''),
          }),
  }
  return say('{place}: {inFlight} in flight, {waiting} wait{oldest}{rest}', values)
}

/** Says what of a provider is no line of its own. */
const isBeside =
  ({ provider }: ProviderView) =>
  ({ kind, scope }: Fact) =>
    FACT_KINDS[kind].lineAfterMs === null && scope['provider'] === provider

function concurrencyLine({ inFlight, waiting, awaitingReply, limit, limitWhy }: ProviderView): Sentence {
  const awaiting =
    awaitingReply === 0 ? '' : say(' ({n} of them waiting long for the reply)', { n: awaitingReply })
  const why = tell(limitWhy)
  return say('{inFlight} in flight{awaiting}, {waiting} in memory; {limit} at once: {why}', {
    inFlight,
    awaiting,
    waiting,
    limit,
    why,
  })
}

function platform(options: ConsoleOptions, hour: Summary | null): Html {
  return html`<h2>${say('The platform')}</h2>${options.view.channels.map(channel => callers(channel, options, hour))}
<p class="small soft">${say('POST_SIGNATURE is {value}.', { value: options.postSignature })}</p>`
}

function callers(channel: Channel, { view, rotating }: ConsoleOptions, hour: Summary | null): Html {
  const { health, countLeftOut } = view
  const { validation, signatures, refusals, heldBack, newcomers, outdatedAt } = health.ofChannel(channel)
  const held = heldBack.map(({ quota, count, lastAt }) =>
    say('{quota}: {count}, the last at {at}', { quota, count, at: clockTime(lastAt) }),
  )
  const ten = [...newcomers].sort(([, a], [, b]) => b - a).slice(0, 10)
  const most = ten.map(([code, n]) => say('+{code}: {n} at most', { code, n }))
  return html`<h3>${CHANNEL_NAMES[channel]}</h3>
<dl><dt>${say('Last validation')}</dt><dd>${validation === null ? say('none since the start') : say('{about}: {what}', { about: clockTime(validation.at), what: validation.ok ? say('right') : tell(validation.reason) })}</dd>
<dt>${say('Callers refused')}</dt><dd>${refusedLine(refusals)}</dd>
<dt>${say('Over quota')}</dt><dd>${sinceTheStart(held)}</dd>
${channel === 'email' ? '' : html`<dt>${say('New numbers in an hour')}</dt><dd>${sinceTheStart(most)}</dd>`}
${channel === 'sms' || countLeftOut === null || hour === null ? '' : html`<dt>${say('Addresses left out')}</dt><dd>${countLeftOut(hour)}</dd>`}
<dt>${say('POSTs signed')}</dt><dd>${say('{right} right, {stale} too old, {wrong} wrong, {absent} unsigned', signatures)}</dd>
${rotating.includes(channel) ? html`<dt>${say('Previous URL last used')}</dt><dd>${outdatedAt === null ? say('not since the start') : timeElement(outdatedAt)}</dd>` : ''}</dl>`
}

function refusedLine({ count, last }: ChannelHealth['refusals']): Html | Sentence {
  if (last === null) return say('none since the start')
  const { at, reason } = last
  return html`${say('{count}, the last at {at}: {reason}', { count, at: clockTime(at), reason: tell(reason) })}`
}

function sinceTheStart(lines: readonly Sentence[]): Html | Sentence {
  return lines.length === 0 ? say('none since the start') : html`${lines.map(line => html`${line}<br>`)}`
}

function house(view: ServiceView, summary: Summary | null, now: number): Html {
  const { startedAt } = view
  const webhooks = view.webhooks()
  const certificate = view.certificate()
  return html`<h2>${say('This service')}</h2><dl>
<dt>${say('Started')}</dt><dd>${timeElement(startedAt)} <span class="soft">${say('{time} so far', { time: formatDuration(now - startedAt) })}</span></dd>
<dt>${say('Waiting')}</dt><dd>${summary === null ? '–' : say('{mails} by e-mail, {sms} by SMS', { mails: summary.backlog.email, sms: summary.backlog.sms })}</dd>
<dt>${say('Store')}</dt><dd>${summary?.bytes === null || summary === null ? '–' : `${(summary.bytes / 1_048_576).toFixed(1)} MiB`}</dd>
${webhooks === null ? '' : html`<dt>${say('Events waiting')}</dt><dd>${webhooks.leads ? webhooks.waiting : say('another replica tells them')}</dd>`}
<dt>${say('Certificate')}</dt><dd>${
    certificate === null
      ? say('none: TLS ends in front of this service')
      : say('{names}; until {at}; chain {chain}', {
          names: certificate.names.length === 0 ? say('no host') : certificate.names.join(', '),
          at: clockTime(certificate.expiresAt),
          chain: term(certificate.chain),
        })
  }</dd></dl>`
}

/** Renders the part of the first page that is about device alerts. */
function devicesCard(devices: AlertsStatus): Html {
  const { leads, subscribed, forMs, lastEnd, refused, received, malformed } = devices
  const word = say(subscribed ? 'subscribed' : 'not subscribed')
  return html`<section class="card"><h2>${say('Device alerts')}</h2>${
    leads
      ? html`<p><span class="state ${subscribed ? 's-sent' : 's-unknown'}">${word}</span> <span class="soft">${say('for {time}', { time: formatDuration(forMs) })}</span></p>`
      : html`<p>${say('Another replica watches the devices.')}</p>`
  }
<dl><dt>${say('Last end')}</dt><dd>${lastEnd === null ? say('none') : describeEnd(lastEnd)}</dd>
<dt>${say('Topics refused')}</dt><dd>${refused.length === 0 ? say('none') : refused.map(({ topic, why }) => html`<span class="mono">${topic}</span> ${tell(why)}<br>`)}</dd>
<dt>${say('Since the start')}</dt><dd>${say('{received} messages, {malformed} that cannot be used', { received, malformed })}</dd></dl></section>`
}
