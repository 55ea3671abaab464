import type { ChannelStatus } from '../../delivery/port.ts'
import type { Channel } from '../../messages/message.ts'
import {
  type AdminQueries,
  LIVE_STATES,
  type State,
  StoreUnavailable,
  type Summary,
} from '../../outbox/outbox.ts'
import type { Refusals, ServiceHealth } from '../service-health.ts'
import { type Cause, type CauseSources, causesOf } from './causes.ts'
import { devicesCard } from './devices.ts'
import { type Html, html } from './html.ts'
import { describeReply, moment, span } from './layout.ts'
import type { ConsoleOptions } from './options.ts'
import { type ConsolePage, LIVE_MS } from './page.ts'
import { plot } from './plot.ts'

const HOUR = 3_600_000
const CHANNEL_NAMES: Readonly<Record<Channel, string>> = { email: 'E-mail', sms: 'SMS' }
const COLUMNS: readonly { readonly name: string; readonly states: readonly State[] }[] = [
  { name: 'Sent', states: ['sent'] },
  { name: 'Waiting', states: LIVE_STATES },
  { name: 'Refused', states: ['refused'] },
  { name: 'Expired', states: ['expired'] },
  { name: 'Unknown', states: ['unknown'] },
  { name: 'Superseded', states: ['superseded'] },
]

export interface OverviewSources extends Omit<CauseSources, 'summary'> {
  readonly health: ServiceHealth
  readonly hour: Summary | null
  readonly day: Summary | null
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
    handle: async (_request, options) => ({
      is: 'page',
      title: 'Overview',
      content: overview(await readSources(options)),
      liveMs: LIVE_MS,
    }),
  },
]

async function readSources(options: ConsoleOptions): Promise<OverviewSources> {
  const now = options.now()
  const [hour, day] = await Promise.all([
    readSummary(options.queries, now - HOUR, 60_000),
    readSummary(options.queries, now - 24 * HOUR, 15 * 60_000),
  ])
  return {
    ...options,
    now,
    hour,
    day,
    channelStatus: options.channelStatus(),
    certificate: options.certificate(),
    renewalRefused: options.renewalRefused(),
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

/** The whole picture on one page: first what is wrong, in a line each. */
function overview(sources: OverviewSources): Html {
  const { hour, day, now, channels } = sources
  const causes = causesOf({ ...sources, summary: hour })
  const about = causes.map(cause => `${cause.level} ${cause.about}`).join(', ')
  return html`<ul class="causes" aria-label="Condition" data-causes="${about}">${causes.map(causeLine)}</ul>
<div class="cards">
<section class="card">${plotOf(hour, 'Last hour', now - HOUR, now, 60_000)}</section>
<section class="card">${plotOf(day, 'Last day', now - 24 * HOUR, now, 15 * 60_000)}</section>
</div>
<section class="card">${countsTable('Last hour', hour, channels)}</section>
<section class="card">${countsTable('Last day', day, channels)}</section>
<div class="cards">
<section class="card">${providers(sources)}</section>
<section class="card">${platform(sources)}</section>
<section class="card">${house(sources)}</section>
${sources.deviceAlerts === null ? '' : devicesCard(sources.deviceAlerts)}
</div>`
}

function causeLine({ level, text }: Cause): Html {
  return html`<li class="${level}">${level === 'fail' ? html`<strong>Failing:</strong> ` : level === 'warn' ? html`<strong>Look:</strong> ` : ''}${text}</li>`
}

function plotOf(summary: Summary | null, title: string, since: number, until: number, stepMs: number): Html {
  return html`<h2>${title}</h2>${summary === null ? html`<p>The store does not answer.</p>` : plot(summary.series, since, until, stepMs, title)}`
}

/** Each figure leads to its messages. */
function countsTable(title: string, summary: Summary | null, channels: readonly Channel[]): Html {
  if (summary === null) return html`<h2>${title}</h2><p>The store does not answer.</p>`
  const { counts } = summary
  const rows = channels.flatMap(channel => {
    const own = counts.filter(each => each.channel === channel)
    const kinds = [...new Set(own.map(({ kind }) => kind))].sort()
    return [
      html`<tr class="sum"><th scope="row">${CHANNEL_NAMES[channel]}</th>${cells(own, { channel })}</tr>`,
      kinds.map(kind => {
        const ofKind = own.filter(each => each.kind === kind)
        return html`<tr><th scope="row">${CHANNEL_NAMES[channel]}: ${kind}</th>${cells(ofKind, { channel, kind })}</tr>`
      }),
    ]
  })
  return html`<table class="stack"><caption>${title}</caption>
<thead><tr><th scope="col">Channel and kind</th>${COLUMNS.map(({ name }) => html`<th scope="col" class="n">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table>`
}

function cells(
  counts: Summary['counts'],
  where: { readonly channel: string; readonly kind?: string },
): readonly Html[] {
  return COLUMNS.map(({ name, states }) => {
    const total = counts
      .filter(each => states.includes(each.state))
      .reduce((sum, each) => sum + each.count, 0)
    if (total === 0) return html`<td class="n none" data-l="${name}">0</td>`
    const query = new URLSearchParams({ ...where, state: states[0] ?? '' })
    return html`<td class="n" data-l="${name}"><a href="/console/messages?${query.toString()}">${total}</a></td>`
  })
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
  return `${inFlight} in flight${awaiting}, ${waiting} in memory; ${limit} at once: ${limitWhy}${breaker}`
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

function house({ hour, certificate, now, startedAt }: OverviewSources): Html {
  return html`<h2>This service</h2><dl>
<dt>Started</dt><dd>${moment(startedAt)} <span class="soft">(${span(now - startedAt)})</span></dd>
<dt>Waiting</dt><dd>${hour === null ? '–' : `${hour.backlog.email} mails, ${hour.backlog.sms} SMS`}</dd>
<dt>Store</dt><dd>${hour?.bytes === null || hour === null ? '–' : `${(hour.bytes / 1_048_576).toFixed(1)} MiB`}</dd>
<dt>Certificate</dt><dd>${
    certificate === null
      ? 'none: TLS ends in front of this service'
      : html`${certificate.names.join(', ')}; until ${moment(certificate.expiresAt)}; chain ${certificate.chain}`
  }</dd></dl>`
}
