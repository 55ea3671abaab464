import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { loadConfig } from '../../src/config/config.ts'
import { newMessageId, type OutgoingSms } from '../../src/messages/message.ts'
import { openProviders } from '../../src/providers/list.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { openSmsTemplates } from '../../src/service/factories.ts'
import { startChild } from '../child.ts'
import { type Figure, figure, ratio } from '../figures.ts'
import { type LoopResult, runLoop } from '../loop.ts'
import type { Session } from '../session.ts'

/** Requests under way at once. */
const WIDTH = 20
const WARM_UP_SECONDS = 1

/** Each carrier's provider alone against its stand-in, which checks signatures as the carrier does, beside Twilio's. */
export async function measureCarriers(session: Session): Promise<Figure[]> {
  const standIns = await startChild('./sinks/carriers.ts')
  const folder = mkdtempSync(join(tmpdir(), 'courier-bench-'))
  try {
    const { settings, templates } = await standIns.ask<{
      readonly settings: Readonly<Record<string, string>>
      readonly templates: object
    }>({ is: 'settings' })
    const file = join(folder, 'templates.json')
    writeFileSync(file, JSON.stringify(templates))
    const config = loadConfig({
      env: { ...SETTINGS, ...settings, SMS_TEMPLATES_FILE: file },
      readFile: String,
    })
    const read = await openSmsTemplates(config, pino({ level: 'silent' }))
    const providers = await openProviders(config, { clock: { now: Date.now }, templates: read })
    const loops = await measureEach(session, providers)
    await Promise.all(providers.map(provider => provider.close()))
    read.close()
    return figuresOf(loops)
  } finally {
    rmSync(folder, { recursive: true })
    await standIns.stop()
  }
}

/** The rest of what the settings need. */
const SETTINGS = {
  CORP_ID: 'bench',
  SMS_TOKEN: 'kbXvWqzRtYpLmNhJgFdSbench',
  TLS: 'off',
  BRAND_NAME: 'Bench',
  DEFAULT_AREA_CODE: '86',
  SMS_ROUTES: '*=twilio',
} as const

async function measureEach(
  { rounds, seconds, print }: Session,
  providers: readonly Provider[],
): Promise<ReadonlyMap<string, readonly LoopResult[]>> {
  const loops = new Map<string, LoopResult[]>()
  let count = 0
  const load = (provider: Provider, forSeconds: number) =>
    runLoop(WIDTH, forSeconds, async () => {
      const outcome = await provider.send(newCode((count += 1)), new AbortController().signal)
      if (outcome.is !== 'sent') throw new Error(`${provider.name}: ${outcome.is} ${outcome.code}`)
    })
  for (const provider of providers) await load(provider, WARM_UP_SECONDS)
  for (let round = 1; round <= rounds; round += 1)
    for (const provider of providers) {
      const loop = await load(provider, seconds)
      loops.set(provider.name, [...(loops.get(provider.name) ?? []), loop])
      const [rate, p50, p99] = [loop.perSecond.toFixed(0), loop.p50Ms.toFixed(1), loop.p99Ms.toFixed(1)]
      print(`${provider.name}, ${round}: ${rate}/s, p50 ${p50} ms, p99 ${p99} ms`)
    }
  return loops
}

function newCode(count: number): OutgoingSms {
  const code = String(100_000 + (count % 900_000))
  const params = { code, minute: '5' }
  return {
    channel: 'sms',
    id: newMessageId(Date.now()),
    to: `+86138${String(count % 100_000_000).padStart(8, '0')}`,
    country: 'CN',
    kind: 'login-code',
    params,
    content: { params, words: 'ours' },
    locale: 'zh-CN',
    expiresAt: Date.now() + 300_000,
    text: () => `【Bench】您的验证码为${code}，5分钟内有效，请勿告诉他人。`,
  }
}

function figuresOf(loops: ReadonlyMap<string, readonly LoopResult[]>): Figure[] {
  const twilio = loops.get('twilio') ?? []
  const rates = (of: readonly LoopResult[]) => of.map(({ perSecond }) => perSecond)
  return [...loops].flatMap(([name, of]) => [
    figure(`${name}, ${WIDTH} at once`, '/s', rates(of)),
    figure(
      `${name}, p50`,
      'ms',
      of.map(({ p50Ms }) => p50Ms),
    ),
    figure(
      `${name}, p99`,
      'ms',
      of.map(({ p99Ms }) => p99Ms),
    ),
    ...(name === 'twilio' ? [] : [ratio(`${name} to twilio`, rates(of), rates(twilio))]),
  ])
}
