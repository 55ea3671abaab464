import { createCarrier } from '../src/delivery/carrier.ts'
import type { OutgoingSms } from '../src/messages/message.ts'
import type { Outcome, Provider } from '../src/providers/provider.ts'
import { atMost, figure, formatFigures } from './figures.ts'

/** Processor time that circuits and limit may take of an attempt, µs: 3 % of that of an SMS. */
const LIMIT_US = 12
const ROUNDS = 7
const PER_ROUND = 100_000

const SENT: Outcome = { is: 'sent', reply: 'ok', providerId: '1' }
const UNDER_REVIEW: Outcome = { is: 'retry', whose: 'ours', scope: 'template', code: 'ILLEGAL', reply: '' }

function sms(kind: string): OutgoingSms {
  return {
    channel: 'sms',
    id: kind,
    to: '+8613800138000',
    country: 'CN',
    kind,
    params: {},
    locale: 'en',
    content: { params: {}, words: 'ours' },
    expiresAt: Date.now() + 600_000,
    text: () => '',
  }
}

/** What one attempt costs in the carrier itself: whether it may be asked, its place, its end. @param refused so many templates are refused */
function measureAttempts(refused: number): number[] {
  const provider: Provider = {
    name: 'bench',
    channel: 'sms',
    concurrency: 50,
    scopesOf: message => ({
      template: message.channel === 'sms' ? message.kind : '',
      sender: 'Bench',
      country: 'CN',
    }),
    send: async () => SENT,
    verify: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  }
  let now = Date.now()
  const carrier = createCarrier(provider, { clock: { now: () => now }, random: Math.random })
  const message = { kind: 'login-code', recipient: '+8613800138000', destination: 'CN' }
  for (let n = 0; n < refused; n += 1) carrier.begin(now, message, sms(`refused-${n}`)).end(UNDER_REVIEW)
  const good = sms('login-code')
  const rounds: number[] = []
  for (let round = -2; round < ROUNDS; round += 1) {
    const began = process.cpuUsage()
    for (let n = 0; n < PER_ROUND; n += 1) {
      if (n % 2 === 0) now += 1
      carrier.standing(now)
      if (carrier.mayAsk(good, now) !== null) throw new Error('a good one is not let through')
      carrier.begin(now, message, good).end(SENT)
      carrier.standing(now)
    }
    const { user, system } = process.cpuUsage(began)
    if (round >= 0) rounds.push((user + system) / PER_ROUND)
  }
  return rounds
}

process.stdout.write(
  formatFigures(
    [0, 1, 20].map(refused =>
      atMost(
        LIMIT_US,
        figure(`an attempt at a carrier that refuses ${refused} templates`, 'µs', measureAttempts(refused)),
      ),
    ),
  ),
)
