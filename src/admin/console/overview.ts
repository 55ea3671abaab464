import type { ChannelStatus } from '../../delivery/port.ts'
import type { Channel } from '../../messages/message.ts'
import { type AdminQueries, StoreUnavailable, type Summary } from '../../outbox/outbox.ts'
import type { Refusals, ServiceHealth } from '../service-health.ts'
import { type Cause, type CauseSources, causesOf } from './causes.ts'
import { devicesCard } from './devices.ts'
import { CHANNEL_NAMES, figures, type Period, periodOf } from './figures.ts'
import { type Html, html } from './html.ts'
import { describeReply, moment, span } from './layout.ts'
import type { ConsoleOptions } from './options.ts'
import { type ConsolePage, LIVE_MS } from './page.ts'

export interface OverviewSources extends CauseSources {
  readonly health: ServiceHealth
  readonly period: Period
  readonly certificate: {
    readonly expiresAt: number
    readonly flaws: readonly string[]
    readonly chain: string
    readonly names: readonly string[]
  } | null
  readonly startedAt: number
  readonly postSignature: string
  readonly requiredIsSafe: readonly Channel[]
  /** Channels whose Token or key is being replaced. */
  readonly rotating: readonly Channel[]
}

export const overviewPages: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/console',
    place: '/console',
    menu: 'Overview',
    handle: async ({ query }, options) => ({
      is: 'page',
      title: 'Overview',
      content: overview(await readSources(options, periodOf(query['period']))),
      liveMs: LIVE_MS,
    }),
  },
]

async function readSources(options: ConsoleOptions, period: Period): Promise<OverviewSources> {
  const now = options.now()
  return {
    ...options,
    now,
    period,
    summary: await readSummary(options.queries, now - period.lengthMs, period.stepMs),
    channelStatus: options.channelStatus(),
    certificate: options.certificate(),
    renewalRefused: options.renewalRefused(),
    storeLoss: options.storeLoss(),
    templateProblems: options.templateProblems(),
    deviceAlerts: options.deviceAlerts(),
    draining: options.draining(),
    requiredIsSafe: options.requiredIsSafe(),
  }
}

async function readSummary(queries: AdminQueries, since: number, stepMs: number): Promise<Summary | null> {
  try {
    return await queries.readSummary(since, stepMs)
  } catch (error) {
    if (error instanceof StoreUnavailable) return null
    throw error
  }
}

/** The whole picture on one page: first what is wrong, then who has to do with it, then the figures. */
function overview(sources: OverviewSources): Html {
  const { summary, period, now, channels } = sources
  const causes = causesOf(sources)
  const about = causes.map(cause => `${cause.level} ${cause.about}`).join(', ')
  return html`<ul class="causes" aria-label="Condition" data-causes="${about}">${causes.map(causeLine)}</ul>
${recipientSearch}
<div class="cards">
<section class="card">${providers(sources)}</section>
<section class="card">${platform(sources)}</section>
<section class="card">${house(sources)}</section>
${sources.deviceAlerts === null ? '' : devicesCard(sources.deviceAlerts)}
</div>
${figures(summary, period, channels, now)}`
}

/** The question that is asked most, where every visit begins. */
const recipientSearch = html`<form class="row find" method="post" action="/console/messages"><label>A customer did not get the code? Recipient, in full<input name="recipient" required autocomplete="off" spellcheck="false" placeholder="name@example.com or +86…"></label><button class="main">Find</button></form>`

function causeLine({ level, text }: Cause): Html {
  return html`<li class="${level}">${level === 'fail' ? html`<strong>Failing:</strong> ` : level === 'warn' ? html`<strong>Look:</strong> ` : ''}${text}</li>`
}

function providers({ health, channelStatus, now }: OverviewSources): Html {
  const known = health.providers()
  return html`<h2>Providers</h2>${channelStatus.map(channel => {
    const seen = known.filter(each => each.channel === channel.channel)
    return html`${
      seen.length === 0
        ? html`<p>${channel.provider}: nothing sent yet.</p>`
        : seen.map(
            each => html`<p><span class="state ${each.up ? 's-sent' : 's-unknown'}">${each.up ? 'works' : 'fails'}</span> <strong>${each.provider}</strong> <span class="soft">for ${span(now - each.since)}</span></p>
<dl class="small"><dt>Last accepted</dt><dd>${moment(each.lastSentAt)}</dd>
<dt>Last error</dt><dd>${each.lastError === null ? 'none' : html`${moment(each.lastError.at)}<br>${describeReply(each.lastError)}`}</dd></dl>`,
          )
    }
<p class="small soft">${channelLine(channel, now)}</p>`
  })}`
}

function channelLine(channel: ChannelStatus, now: number): string {
  const rest = (channel.breakerUntil ?? now) - now
  const breaker =
    channel.breaker === 'closed'
      ? ''
      : rest > 0
        ? `; left alone for ${span(rest)}`
        : '; being tried by one message'
  const { inFlight, waiting, awaitingReply, limit, limitWhy } = channel
  const awaiting = awaitingReply === 0 ? '' : ` (${awaitingReply} wait long for their reply)`
  const second = channel.isSecond ? '; asked second, because its delivery reports are late or bad' : ''
  return `${inFlight} in flight${awaiting}, ${waiting} in memory; ${limit} at once: ${limitWhy}${breaker}${second}`
}

function platform(sources: OverviewSources): Html {
  return html`<h2>The platform</h2>${sources.channels.map(channel => callers(channel, sources))}
<p class="small soft">POST_SIGNATURE is ${sources.postSignature}.</p>`
}

function callers(channel: Channel, { health, requiredIsSafe, rotating }: OverviewSources): Html {
  const validation = health.validation(channel)
  const { right, wrong, absent } = health.signatures(channel)
  const safe = requiredIsSafe.includes(channel)
  const outdatedAt = health.outdatedAt(channel)
  return html`<h3>${CHANNEL_NAMES[channel]}</h3>
<dl><dt>Last validation</dt><dd>${validation === null ? 'none since the start' : html`${moment(validation.at)}: ${validation.ok ? 'right' : validation.reason}`}</dd>
<dt>Callers refused</dt><dd>${refusedLine(health.refusals(channel))}</dd>
<dt>POSTs signed</dt><dd>${right} right, ${wrong} wrong, ${absent} unsigned${safe ? html`. <strong>POST_SIGNATURE=required would be safe.</strong>` : ''}</dd>
${rotating.includes(channel) ? html`<dt>Previous URL last used</dt><dd>${outdatedAt === null ? 'not since the start' : moment(outdatedAt)}</dd>` : ''}</dl>`
}

function refusedLine({ count, last }: Refusals): Html | string {
  return last === null
    ? 'none since the start'
    : html`${count}, the last at ${moment(last.at)}: ${last.reason}`
}

function house({ summary, certificate, now, startedAt }: OverviewSources): Html {
  return html`<h2>This service</h2><dl>
<dt>Started</dt><dd>${moment(startedAt)} <span class="soft">(${span(now - startedAt)})</span></dd>
<dt>Waiting</dt><dd>${summary === null ? '–' : `${summary.backlog.email} mails, ${summary.backlog.sms} SMS`}</dd>
<dt>Store</dt><dd>${summary?.bytes === null || summary === null ? '–' : `${(summary.bytes / 1_048_576).toFixed(1)} MiB`}</dd>
<dt>Certificate</dt><dd>${
    certificate === null
      ? 'none: TLS ends in front of this service'
      : html`${certificate.names.join(', ')}; until ${moment(certificate.expiresAt)}; chain ${certificate.chain}`
  }</dd></dl>`
}
