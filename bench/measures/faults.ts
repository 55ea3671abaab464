import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { startAliyunServer } from '../../test/providers/aliyun/rig.ts'
import { startTencentServer } from '../../test/providers/tencent/rig.ts'
import { ACCOUNT_SID, AUTH_TOKEN, startTwilioServer } from '../../test/rigs/twilio-server.ts'
import { accountSettings } from '../../test/rigs/two-carriers.ts'
import { type Figure, figure } from '../figures.ts'
import { codeOf } from '../numbered-callbacks.ts'
import { PATHS } from '../service.ts'
import type { Session } from '../session.ts'
import { type Latency, startSmtpSink } from '../sinks/smtp-sink.ts'

/** Codes are asked for at this rate, the platform's of a quiet day. */
const PER_SECOND = 2
const SECONDS = 40
/** A code that goes out later than this is too late for somebody in front of a sign-in page, ms. */
const LATE_MS = 2000
/** So long after the last callback it is looked what was never sent, ms. */
const LOOK_AFTER_MS = 20_000
/** A fault that begins is noticed within this time, ms: codes from then on count. */
const NOTICED_MS = 6000

/** Who had which message, by the number in its recipient. */
interface Arrivals {
  /** When somebody took it first. */
  readonly first: Map<number, number>
  /** Who took it, each time. */
  readonly takers: Map<number, string[]>
  /** Those that a server which hangs was asked to take. */
  readonly hung: number[]
  note(number: number, taker: string): void
}

/** What a row of the table plays. */
interface Scene {
  readonly print: (line: string) => void
  readonly arrivals: Arrivals
  /** The carriers' stand-ins misbehave so from now on. */
  readonly faults: {
    mail: Latency
    /** How long a carrier lets a number wait, ms; Infinity: for ever. */
    aliyun: (to: string) => number
    twilio: (to: string) => number
  }
  /** Sends callbacks at even intervals. @returns when each was sent, by its number */
  send(perSecond: number, seconds: number, make: (number: number) => Callback): Promise<Map<number, number>>
}

interface Callback {
  readonly channel: 'email' | 'sms'
  readonly body: object
}

interface Row {
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  /** A second mail server, which is well. */
  readonly hasFallback?: boolean
  /** Plays it. @returns the codes that count: when each was asked for. */
  play(scene: Scene): Promise<Map<number, number>>
}

const mailCode = (number: number, domain = 'others.example.com'): Callback => ({
  channel: 'email',
  body: {
    subject: 'Your activation code',
    to: `reader.${codeOf(number)}@${domain}`,
    email_param: { type: 5, code: codeOf(number).slice(2), hour: '1' },
  },
})

const alarm = (number: number, domain: string): Callback => ({
  channel: 'email',
  body: {
    subject: 'Device alarm',
    to: `reader.${codeOf(number)}@${domain}`,
    email_param: {
      type: 8,
      username: 'Lin Wei',
      corporation: 'Northwind',
      productName: 'Sensor',
      time: '2026-11-20 14:32:05',
      email: 'lin.wei@example.com',
    },
  },
})

const smsCode = (to: string, area: string, number: number): Callback => ({
  channel: 'sms',
  body: { to, area_code: area, sms_param: { type: 4, code: codeOf(number).slice(2), minute: '5' } },
})
const china = (number: number): Callback => smsCode(`138${codeOf(number)}`, '86', number)
const germany = (number: number): Callback => smsCode(`1512${codeOf(number).slice(1)}`, '49', number)
const america = (number: number): Callback => smsCode(`2015${codeOf(number).slice(2)}`, '1', number)

const domainOf = (recipient: string): string => recipient.slice(recipient.lastIndexOf('@') + 1)

/** Alarms that lie in front of a slow domain, and mails that go on to come for one, beside codes to others. */
function besideSlowDomains(domains: Readonly<Record<string, number>>, at: 'recipient' | 'message') {
  return (scene: Scene): void => {
    scene.faults.mail = (what, recipient) => (what === at ? (domains[domainOf(recipient)] ?? 0) : 0)
  }
}

/** Codes while the first carrier hangs: those that are asked for once that can be known. */
async function sendWhileItHangs(scene: Scene, make: (number: number) => Callback, hang: () => void) {
  await scene.send(PER_SECOND, 10, make)
  hang()
  await scene.send(PER_SECOND, NOTICED_MS / 1000, make)
  return scene.send(PER_SECOND, SECONDS, make)
}

const TWO_CARRIERS = { SMS_ROUTES: 'CN=aliyun,tencent; *=aliyun' }

const ROWS: readonly Row[] = [
  {
    name: '60 alarms to a domain that takes 30 s; codes to others',
    async play(scene) {
      besideSlowDomains({ 'slow.example.net': 30_000 }, 'message')(scene)
      await scene.send(PER_SECOND, 5, mailCode)
      const alarms = scene.send(60, 1, number => alarm(number, 'slow.example.net'))
      const codes = await scene.send(PER_SECOND, SECONDS, mailCode)
      await alarms
      return codes
    },
  },
  {
    name: 'five mails a second to a domain that takes 8 s; codes to others',
    async play(scene) {
      besideSlowDomains({ 'slow.example.net': 8000 }, 'message')(scene)
      const slow = scene.send(5, SECONDS, number => mailCode(number, 'slow.example.net'))
      const codes = await scene.send(PER_SECOND, SECONDS, mailCode)
      await slow
      return codes
    },
  },
  {
    name: 'a mail a second to a domain that hangs after RCPT; codes to others',
    async play(scene) {
      besideSlowDomains({ 'slow.example.net': Infinity }, 'recipient')(scene)
      const slow = scene.send(1, SECONDS, number => mailCode(number, 'slow.example.net'))
      const codes = await scene.send(PER_SECOND, SECONDS, mailCode)
      await slow
      return codes
    },
  },
  ...[50, 1].map(
    (connections): Row => ({
      name: `two slow domains at once (8 s and 30 s), ${connections} connection(s); codes to others`,
      env: { SMTP_CONNECTIONS: String(connections) },
      async play(scene) {
        besideSlowDomains({ 'slow.example.net': 8000, 'slower.example.net': 30_000 }, 'message')(scene)
        const slow = Promise.all([
          scene.send(5, SECONDS, number => mailCode(number, 'slow.example.net')),
          scene.send(60, 1, number => alarm(number, 'slower.example.net')),
        ])
        const codes = await scene.send(PER_SECOND, SECONDS, mailCode)
        await slow
        return codes
      },
    }),
  ),
  {
    name: 'Twilio takes 8 s for Germany, five a second; codes to China',
    env: { SMS_ROUTES: '*=twilio' },
    async play(scene) {
      scene.faults.twilio = to => (to.startsWith('+49') ? 8000 : 0)
      const slow = scene.send(5, SECONDS, germany)
      const codes = await scene.send(PER_SECOND, SECONDS, china)
      await slow
      return codes
    },
  },
  {
    name: 'Aliyun hangs, Tencent is second and well, 6 s later',
    env: TWO_CARRIERS,
    play: scene =>
      sendWhileItHangs(scene, china, () => {
        scene.faults.aliyun = () => Infinity
      }),
  },
  {
    name: 'Aliyun hangs for China alone, 6 s later',
    env: TWO_CARRIERS,
    async play(scene) {
      const abroad = scene.send(PER_SECOND, 16 + SECONDS, america)
      const codes = await sendWhileItHangs(scene, china, () => {
        scene.faults.aliyun = to =>
          to.startsWith('1') && to.length === 11 && !to.startsWith('12') ? Infinity : 0
      })
      await abroad
      return codes
    },
  },
  {
    name: 'the others, while somebody asks four times for whom Aliyun hangs',
    env: TWO_CARRIERS,
    async play(scene) {
      const others = scene.send(PER_SECOND, SECONDS, china)
      let hers: number | undefined
      for (let n = 0; n < 4; n += 1) {
        await scene.send(0.1, 10, number => {
          hers ??= number
          scene.faults.aliyun = to => (to.endsWith(codeOf(hers ?? 0)) ? Infinity : 0)
          return smsCode(`138${codeOf(hers)}`, '86', number)
        })
        await pause(9000)
      }
      const asked = scene.arrivals.hung.filter(each => each === hers).length
      const took = scene.arrivals.takers.get(hers ?? 0)?.filter(each => each === 'tencent').length ?? 0
      scene.print(
        `somebody asks four times for whom Aliyun hangs: Aliyun was asked ${asked} times, Tencent took ${took}`,
      )
      return others
    },
  },
  ...(['recipient', 'message'] as const).map(
    (at): Row => ({
      name: `the mail server hangs after ${at === 'recipient' ? 'RCPT' : 'the dot'}, the fallback is well, 6 s later`,
      hasFallback: true,
      play: scene =>
        sendWhileItHangs(scene, mailCode, () => {
          scene.faults.mail = what => (what === at ? Infinity : 0)
        }),
    }),
  ),
]

/** The words of both carriers for login codes. */
const TEMPLATES = `aliyun:
  login-code: { mainland: { template: SMS_1, params: { code: code } }, abroad: { template: SMS_2, params: { code: code } } }
tencent:
  login-code: { mainland: { template: 1110, params: [code, minute] } }
`

/** Each code's way through a fault that is somebody else's, on the running service at two callbacks a second. */
export async function measureFaults(session: Session): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const row of ROWS) {
    const { late, unsent, tried, worstMs, count, twice } = await playRow(session, row)
    session.print(
      `${row.name}: of ${count} codes ${late} later than 2 s (${tried} of them tried the server that hangs; ${unsent} were not sent), worst of the others ${(worstMs / 1000).toFixed(2)} s; ${twice} SMS by two carriers`,
    )
    figures.push(figure(`${row.name}: later than 2 s, of ${count}`, 'codes', [late]))
    figures.push(figure(`${row.name}: worst of those that did not try it`, 'ms', [worstMs]))
  }
  return figures
}

async function playRow(session: Session, row: Row) {
  const arrivals = createArrivals()
  const faults: Scene['faults'] = {
    mail: () => 0,
    aliyun: () => 0,
    twilio: () => 0,
  }
  const numberOf = (text: string): number => Number(/(\d{8})(?:@|$)/.exec(text)?.[1] ?? 0)
  const smtp = (name: 'mail' | 'fallback') =>
    startSmtpSink(
      () => {},
      (what, recipient) => {
        const waitMs = name === 'mail' ? faults.mail(what, recipient) : 0
        if (waitMs === Infinity) arrivals.hung.push(numberOf(recipient))
        if (what === 'message' && Number.isFinite(waitMs)) arrivals.note(numberOf(recipient), name)
        return waitMs
      },
    )
  const [mailPort, fallbackPort, aliyun, tencent, twilio] = await Promise.all([
    smtp('mail'),
    smtp('fallback'),
    startAliyunServer({ onMessage: ({ phoneNumber }) => arrivals.note(numberOf(phoneNumber), 'aliyun') }),
    startTencentServer({ onMessage: ({ phoneNumber }) => arrivals.note(numberOf(phoneNumber), 'tencent') }),
    startTwilioServer(),
  ])
  const faultOf = (waitMs: number) =>
    waitMs === Infinity
      ? ({ is: 'stall' } as const)
      : waitMs > 0
        ? ({ is: 'delay', ms: waitMs } as const)
        : undefined
  aliyun.fault = ({ action, query }) => {
    const to = query['PhoneNumbers'] ?? ''
    const waitMs = action === 'SendSms' ? faults.aliyun(to) : 0
    if (waitMs === Infinity) arrivals.hung.push(numberOf(to))
    return faultOf(waitMs)
  }
  twilio.fault = ({ form }) => {
    const to = form['To'] ?? ''
    arrivals.note(numberOf(to), 'twilio')
    return faultOf(faults.twilio(to))
  }
  const folder = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  const templates = join(folder, 'templates.yaml')
  writeFileSync(templates, TEMPLATES)
  const service = await session.startService({
    env: {
      SMTP_URL: `smtp://127.0.0.1:${mailPort}?ignoreTLS=true`,
      TWILIO_ACCOUNT_SID: ACCOUNT_SID,
      TWILIO_AUTH_TOKEN: AUTH_TOKEN,
      TWILIO_API_URL: twilio.url,
      SMS_COUNTRIES: 'CN,DE,US',
      SMS_ROUTES: '*=twilio',
      SMS_TEMPLATES_FILE: templates,
      ...accountSettings(aliyun, tencent),
      ...(row.hasFallback && { SMTP_FALLBACK_URL: `smtp://127.0.0.1:${fallbackPort}?ignoreTLS=true` }),
      ...row.env,
    },
  })
  const agent = new Agent({
    connect: { ca: session.certificate.cert, servername: 'localhost' },
    connections: 200,
  })
  try {
    const post = async ({ channel, body }: Callback): Promise<void> => {
      const answer = await request(`https://127.0.0.1:${service.port}${PATHS[channel]}`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const said = await answer.body.text()
      if (!said.includes('"err_code":0')) throw new Error(`wrongly answered: ${said.slice(0, 200)}`)
    }
    const codes = await row.play({
      print: session.print,
      arrivals,
      faults,
      async send(perSecond, seconds, make) {
        const sent = new Map<number, number>()
        const answers: Promise<unknown>[] = []
        let failure: unknown
        const began = performance.now()
        for (let n = 0; n < perSecond * seconds; n += 1) {
          await pause(began + (n * 1000) / perSecond - performance.now())
          const number = session.numbers.next()
          sent.set(number, performance.now())
          answers.push(post(make(number)).catch(error => (failure ??= error)))
        }
        await Promise.all(answers)
        if (failure !== undefined) throw failure
        return sent
      },
    })
    await pause(LOOK_AFTER_MS)
    const waits = [...codes].map(([number, at]) => ({
      ms: (arrivals.first.get(number) ?? Infinity) - at,
      hasTried: arrivals.hung.includes(number),
    }))
    const late = waits.filter(({ ms }) => ms > LATE_MS)
    return {
      count: waits.length,
      late: late.length,
      tried: late.filter(({ hasTried }) => hasTried).length,
      unsent: late.filter(({ ms }) => ms === Infinity).length,
      worstMs: Math.max(0, ...waits.flatMap(({ ms, hasTried }) => (hasTried ? [] : [ms]))),
      twice: [...arrivals.takers].filter(
        ([number, by]) => codes.has(number) && new Set(by).size > 1 && !by.includes('mail'),
      ).length,
    }
  } finally {
    await agent.destroy()
    await session.stopServices()
    await Promise.all([aliyun.standIn.close(), tencent.standIn.close(), twilio.close()])
    await rm(folder, { recursive: true, force: true })
  }
}

function createArrivals(): Arrivals {
  const first = new Map<number, number>()
  const takers = new Map<number, string[]>()
  return {
    first,
    takers,
    hung: [],
    note(number, taker) {
      if (!first.has(number)) first.set(number, performance.now())
      takers.set(number, [...(takers.get(number) ?? []), taker])
    },
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))
