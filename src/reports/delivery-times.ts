import type { Emit, EventOf } from '../events/events.ts'
import type { MemoStore } from '../outbox/outbox.ts'
import type { Clock } from '../runtime/clock.ts'

/** How long SMS take by a carrier to a country; `''`: to all of them together. */
export interface DeliveryTime {
  readonly provider: string
  readonly country: string
  /** The median of its LATEST reports of the last day, ms. */
  readonly latestMs: number
  /** Null: too few have come so far to say what is usual. */
  readonly usualMs: number | null
  /** It takes four times as long as usual, or longer. */
  readonly isSlow: boolean
}

/** What is usual: the geometric mean of about the last USUAL reports, so that a phone that was off for hours changes little. */
interface Usual {
  readonly ms: number
  readonly count: number
}

const LATEST = 20
const DAY_MS = 86_400_000
const USUAL = 500
/** From so many reports on it is said what is usual. */
const FEWEST = 50
const SLOWER = 4
/** What takes less is not slow, ms. */
const FAST_MS = 10_000
/** So many countries of a carrier have figures of their own in metrics. */
const MOST_COUNTRIES = 10
const MEMO = 'delivery-times'
const KEPT_MS = 90 * DAY_MS
const WRITE_EVERY_MS = 60_000

interface DeliveryTimesOptions {
  readonly memos: MemoStore
  readonly clock: Clock
  readonly emit: Emit
}

export interface DeliveryTimes {
  /** Takes a delivery report. */
  note(event: EventOf<'receipt'>): Promise<void>
  /** Lists the carriers and countries of which enough has been reported lately. */
  list(): readonly DeliveryTime[]
  /** Writes what is usual. */
  close(): Promise<void>
}

/** Measures the time from a callback to the report that its SMS was delivered. What is usual outlasts a restart, and replicas share it. */
export function createDeliveryTimes({ memos, clock, emit }: DeliveryTimesOptions): DeliveryTimes {
  /** By carrier and country, each pair with a blank between; the busiest that the store knew first, and the others as they came. */
  let usual = new Map<string, Usual>()
  const latest = new Map<string, readonly { readonly at: number; readonly ms: number }[]>()
  let reading: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  async function read(): Promise<void> {
    const value = (await memos.readMemos([MEMO])).get(MEMO)
    usual = new Map(value === undefined ? [] : (JSON.parse(value) as [string, Usual][]))
  }

  async function write(): Promise<void> {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    const value = JSON.stringify([...usual].toSorted(([, a], [, b]) => b.count - a.count))
    await memos.writeMemo({ name: MEMO, value, expiresAt: clock.now() + KEPT_MS }).catch(() => {})
  }

  function count(key: string, ms: number, at: number): void {
    const before = usual.get(key) ?? { ms, count: 0 }
    const share = 1 / Math.min(before.count + 1, USUAL)
    usual.set(key, { ms: before.ms ** (1 - share) * ms ** share, count: before.count + 1 })
    latest.set(key, [...(latest.get(key) ?? []), { at, ms }].slice(-LATEST))
  }

  /** The country, if metrics name it: all together they would name hundreds. */
  function nameCountry(provider: string, country: string): string {
    const own = [...usual.keys()].filter(key => key.startsWith(`${provider} `))
    return own.slice(0, 1 + MOST_COUNTRIES).includes(`${provider} ${country}`) ? country : 'other'
  }

  return {
    async note({ channel, provider, status, result, country, arrivedAt }) {
      if (channel !== 'sms' || result !== 'recorded' || status !== 'delivered' || arrivedAt === undefined)
        return
      const at = clock.now()
      const ms = Math.max(at - arrivedAt, 1)
      reading ??= read()
      try {
        await reading
      } catch {
        // The store does not answer: the next report asks it again, and this one is left out.
        reading = undefined
        return
      }
      const to = country ?? '-'
      for (const key of [`${provider} `, `${provider} ${to}`]) count(key, ms, at)
      timer ??= setTimeout(write, WRITE_EVERY_MS).unref()
      emit({ type: 'delivered', provider, country: nameCountry(provider, to), tookMs: ms })
    },
    list() {
      return [...latest].flatMap(([key, reports]) => {
        const recent = reports.filter(({ at }) => clock.now() - at <= DAY_MS).map(({ ms }) => ms)
        if (recent.length < LATEST) return []
        const [provider = '', country = ''] = key.split(' ')
        const latestMs = recent.toSorted((a, b) => a - b)[LATEST / 2] ?? 0
        const known = usual.get(key)
        const usualMs = known !== undefined && known.count >= FEWEST ? known.ms : null
        const isSlow = usualMs !== null && latestMs >= Math.max(SLOWER * usualMs, FAST_MS)
        return { provider, country, latestMs, usualMs, isSlow }
      })
    },
    close: write,
  }
}
