import { type Sentence, say, translateText } from '../../language/sentence.ts'
import { type Html, html } from './html.ts'
import { formatDuration } from './layout.ts'

/** The state of the data subscription that device alerts come from. */
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

/** Lists the faults of the device subscription, a sentence each. */
export function deviceCauses(
  devices: DeviceAlertsStatus,
): readonly { readonly level: 'fail' | 'warn'; readonly text: Sentence }[] {
  const { leads, subscribed, forMs, lastEnd, refused } = devices
  if (!leads) return []
  const away = {
    level: 'fail',
    text: say('No device alert has come for {time}: {why}. {next}', {
      time: formatDuration(forMs),
      why: lastEnd === null ? say('the platform has not answered yet') : ended(lastEnd),
      next: whatToDo(lastEnd),
    }),
  } as const
  return [
    ...(!subscribed && forMs > LONG_MS ? [away] : []),
    ...refused.map(
      ({ topic, why }) =>
        ({
          level: 'warn',
          text: say(
            'The platform refuses the topic {topic} ({why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.',
            { topic, why: translateText(why) },
          ),
        }) as const,
    ),
  ]
}

/** Renders the part of the first page that is about device alerts. */
export function devicesCard(devices: DeviceAlertsStatus): Html {
  const { leads, subscribed, forMs, lastEnd, refused, received, malformed } = devices
  const word = say(subscribed ? 'subscribed' : 'not subscribed')
  return html`<section class="card"><h2>${say('Device alerts')}</h2>${
    leads
      ? html`<p><span class="state ${subscribed ? 's-sent' : 's-unknown'}">${word}</span> <span class="soft">${say('for {time}', { time: formatDuration(forMs) })}</span></p>`
      : html`<p>${say('Another replica watches the devices.')}</p>`
  }
<dl><dt>${say('Last end')}</dt><dd>${lastEnd === null ? say('none') : ended(lastEnd)}</dd>
<dt>${say('Topics refused')}</dt><dd>${refused.length === 0 ? say('none') : refused.map(({ topic, why }) => html`<span class="mono">${topic}</span> ${translateText(why)}<br>`)}</dd>
<dt>${say('Since the start')}</dt><dd>${say('{received} messages, {malformed} that cannot be used', { received, malformed })}</dd></dl></section>`
}

function ended({ is, why }: { readonly is: string; readonly why: string }): Sentence {
  return say('{is}, {why}', { is: translateText(is), why: translateText(why) })
}

function whatToDo(lastEnd: DeviceAlertsStatus['lastEnd']): Sentence {
  return lastEnd?.is === 'refused'
    ? say(
        'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.',
      )
    : say('It is tried again every 5 s: look at DDQ_HOST, DDQ_PORT and the network.')
}
