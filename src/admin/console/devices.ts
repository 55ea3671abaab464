import { type Html, html } from './html.ts'
import { span } from './layout.ts'

/** How the data subscription does, that device alerts come of. */
export interface DeviceAlertsStatus {
  /** False: another replica watches the devices. */
  readonly leads: boolean
  readonly subscribed: boolean
  /** How long it has been subscribed, or has not been, ms. */
  readonly forMs: number
  /** Why it last ended, or could not begin. */
  readonly lastEnd: { readonly is: string; readonly why: string } | null
  /** Topics that the platform refuses, though others come. */
  readonly refused: readonly { readonly topic: string; readonly why: string }[]
  readonly received: number
  readonly malformed: number
}

/** A connection that is lost comes back within seconds; what takes longer needs somebody. */
const LONG_MS = 60_000

/** What is wrong with it, a sentence each. */
export function deviceCauses(
  devices: DeviceAlertsStatus,
): readonly { readonly level: 'fail' | 'warn'; readonly text: string }[] {
  const { leads, subscribed, forMs, lastEnd, refused } = devices
  if (!leads) return []
  const away = {
    level: 'fail',
    text: `No device alert has come for ${span(forMs)}: ${lastEnd === null ? 'the platform has not answered yet' : ended(lastEnd)}. ${whatToDo(lastEnd)}`,
  } as const
  return [
    ...(!subscribed && forMs > LONG_MS ? [away] : []),
    ...refused.map(
      ({ topic, why }) =>
        ({
          level: 'warn',
          text: `The platform refuses the topic ${topic} (${why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.`,
        }) as const,
    ),
  ]
}

/** The part of the first page that is about it. */
export function devicesCard(devices: DeviceAlertsStatus): Html {
  const { leads, subscribed, forMs, lastEnd, refused, received, malformed } = devices
  const word = subscribed ? 'subscribed' : 'not subscribed'
  return html`<section class="card"><h2>Device alerts</h2>${
    leads
      ? html`<p><span class="state ${subscribed ? 's-sent' : 's-unknown'}">${word}</span> <span class="soft">for ${span(forMs)}</span></p>`
      : html`<p>Another replica watches the devices.</p>`
  }
<dl><dt>Last end</dt><dd>${lastEnd === null ? 'none' : ended(lastEnd)}</dd>
<dt>Topics refused</dt><dd>${refused.length === 0 ? 'none' : refused.map(({ topic, why }) => html`<span class="mono">${topic}</span>: ${why}<br>`)}</dd>
<dt>Since the start</dt><dd>${received} messages, ${malformed} that cannot be used</dd></dl></section>`
}

function ended({ is, why }: { readonly is: string; readonly why: string }): string {
  return `${is}, ${why}`
}

function whatToDo(lastEnd: DeviceAlertsStatus['lastEnd']): string {
  return lastEnd?.is === 'refused'
    ? 'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.'
    : 'It is tried again every 5 s: look at DDQ_HOST, DDQ_PORT and the network.'
}
