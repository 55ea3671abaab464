import type { EventOf, PartialFault, PartialFaultChange } from '../events/events.ts'
import { term } from '../language/sentence.ts'
import type { Channel } from '../messages/message.ts'
import type { ReportFault } from '../outbox/outbox.ts'
import { isOursToMend } from '../providers/provider.ts'
import type { Clock } from '../runtime/clock.ts'

/** A fault is over when so many messages in a row arrived that it concerns: as many as did not, within these bounds. */
const FEWEST_ARRIVED = 3
const MOST_ARRIVED = 10
/** What no report has said for so long, ms, is not said any more. */
const UNSAID_MS = 24 * 60 * 60_000
/** The most faults of a provider, and recipients of each, that are kept. */
const MOST_FAULTS = 100
const MOST_RECIPIENTS = 100
/** So many recipients make a fault. Each can send a report on a mail of his own; but what a carrier reports is its own. */
const FEWEST_RECIPIENTS: Readonly<Record<Channel, number>> = { email: 5, sms: 1 }

interface ReportedFault {
  readonly channel: Channel
  readonly provider: string
  /** Null: too few recipients have met it so far. */
  fault: PartialFault | null
  /** The latest ones: when each met it last, ms since the epoch, and the domain of his address. */
  readonly recipients: Map<string, { readonly at: number; readonly domain: string }>
  /** The beginnings of their numbers. */
  readonly areas: Set<string>
  reports: number
  /** Messages in a row that arrived since. */
  arrived: number
}

interface ReportedFaultsOptions {
  readonly clock: Clock
  /** Called when reports begin to say that something is for the operator to mend, and when they do no more. */
  readonly onFault: (channel: Channel, provider: string, change: PartialFaultChange) => void
  /** Names the domain of an address that is masked. */
  readonly domainOf: (masked: string) => string
}

export interface ReportedFaults {
  /** Takes a delivery report. */
  note(event: EventOf<'receipt'>): void
  /** Lists what a provider's reports say that is for the operator to mend. */
  list(provider: string): readonly PartialFault[]
}

/**
 * What providers report that the operator has to mend, such as a signature that is not registered: they take the messages, which do
 * not arrive. From the first such report on it is a fault of the provider, until messages arrive again that it concerns. Nothing
 * waits for it: the provider is not known to refuse the next one. By mails that came back it is one from the fifth recipient of a day
 * on, if they are of two domains.
 */
export function createReportedFaults({
  clock: { now },
  onFault,
  domainOf,
}: ReportedFaultsOptions): ReportedFaults {
  /** By provider and code: what comes from one provider hides no fault of another. */
  const tables = new Map<string, Map<string, ReportedFault>>()

  function isMet({ channel, fault, recipients }: ReportedFault): boolean {
    for (const [recipient, { at }] of recipients) if (now() - at > UNSAID_MS) recipients.delete(recipient)
    if (recipients.size < FEWEST_RECIPIENTS[channel]) return false
    const domains = new Set([...recipients.values()].map(({ domain }) => domain))
    return channel === 'sms' || fault !== null || domains.size > 1
  }

  function meet(event: EventOf<'receipt'>, { scope, reason }: ReportFault): void {
    const { channel, provider, errorCode, kind = '', masked = '', recipient = masked } = event
    // The codes of a class are one fault (RFC 3463).
    const code = errorCode?.replace(/^(\d\.\d+)\.\d+$/, '$1.x') ?? 'undelivered'
    const key = `${code} ${scope === 'template' ? kind : ''}`
    const table = tables.get(provider) ?? new Map<string, ReportedFault>()
    tables.set(provider, table)
    const nobody = { recipients: new Map(), areas: new Set<string>(), reports: 0, arrived: 0 }
    const found = table.get(key) ?? { channel, provider, fault: null, ...nobody }
    if (table.size < MOST_FAULTS) table.set(key, found)
    else if (!table.has(key)) return
    found.recipients.delete(recipient)
    found.recipients.set(recipient, { at: now(), domain: domainOf(masked) })
    const [oldest = ''] = found.recipients.keys()
    if (found.recipients.size > MOST_RECIPIENTS) found.recipients.delete(oldest)
    found.areas.add(areaOf(masked))
    found.reports += 1
    found.arrived = 0
    if (found.fault !== null || !isMet(found)) return
    found.fault = { scope, name: code, kind, since: now(), until: null, code, reply: term(reason ?? '') }
    const recipients = found.recipients.size
    onFault(channel, provider, { is: 'begun', fault: { ...found.fault, recipients } })
  }

  function end(key: string, { channel, provider, fault }: ReportedFault): void {
    tables.get(provider)?.delete(key)
    if (fault !== null) onFault(channel, provider, { is: 'over', fault })
  }

  return {
    note(event) {
      const { provider, status, fault, result, kind, masked = '' } = event
      // A complaint is of a mail that arrived.
      if (result !== 'recorded' || status === 'complained') return
      if (fault !== undefined && isOursToMend(fault)) meet(event, fault)
      if (status !== 'delivered' && status !== 'read') return
      for (const [key, each] of tables.get(provider) ?? []) {
        const isOther = each.fault?.scope === 'template' && each.fault.kind !== kind
        if (isOther || !each.areas.has(areaOf(masked))) continue
        each.arrived += 1
        if (each.arrived >= Math.min(Math.max(each.reports, FEWEST_ARRIVED), MOST_ARRIVED)) end(key, each)
      }
    },
    list(provider) {
      const table = tables.get(provider) ?? new Map<string, ReportedFault>()
      for (const [key, each] of table)
        if (!isMet(each) && (each.fault !== null || each.recipients.size === 0)) end(key, each)
      return [...table.values()].flatMap(({ fault, recipients }) =>
        fault === null ? [] : { ...fault, recipients: recipients.size },
      )
    },
  }
}

/** The calling code of a number, as far as its mask shows it; a sender may be registered in one country and not in another. */
function areaOf(masked: string): string {
  return /^\+(?:[17]|\d\d)/.exec(masked)?.[0] ?? ''
}
