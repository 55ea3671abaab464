import { pino } from 'pino'
import { adminAddress } from '../config/admin-address.ts'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { createCallbackClient } from '../platform/callback-client.ts'
import { providerModules } from '../providers/list.ts'
import { type CheckResult, fail } from '../runtime/check-result.ts'
import { createClock } from '../runtime/clock.ts'
import { callbackUrls } from '../service/callback-urls.ts'
import { openOutbox, openRenderer, openStoreKeys } from '../service/factories.ts'
import { checkCallbackUrls } from './check/callback-urls.ts'
import { checkCertificate } from './check/certificate.ts'
import { checkClock, type ReadServerDate, readServerDate } from './check/clock.ts'
import { checkDkim } from './check/dkim.ts'
import { createResolveTxt, type ResolveTxt } from './check/dns.ts'
import { formatAsJson, formatAsText } from './check/format.ts'
import { checkMachine, createMachine, type Machine } from './check/machine.ts'
import { checkSender } from './check/sender.ts'
import { checkSettings } from './check/settings.ts'
import { checkStore, type ServiceStatus } from './check/store.ts'
import { checkTemplates } from './check/templates.ts'
import { type Command, type Io, readArguments } from './command.ts'
import { requestHealth } from './health.ts'

export const check: Command = {
  usage: `callback-courier check [--json]

  Looks at everything that can be found out from here without sending a message: settings, certificate, mail server,
  Twilio account, delivery reports, SPF, DMARC and DKIM, store, disk, clock, templates, whether the callback URLs
  validate, and the login for device alerts if they are on. Each line is ok, warn or fail, and says what to do. Exit code 1 when something failed.

  --json  as JSON
`,
  async run(argv, io) {
    const { values } = readArguments(argv, { json: { type: 'boolean' } })
    const findings = await runChecks(io)
    io.stdout.write(values.json === true ? formatAsJson(findings) : formatAsText(findings))
    return findings.some(({ is }) => is === 'fail') ? 1 : 0
  },
}

/** What is asked outside of this process; the real world unless given. */
export interface CheckDependencies {
  readonly resolveTxt?: ResolveTxt
  readonly readServerDate?: ReadServerDate
  readonly machine?: Machine
}

/** @returns findings in the order of the road: settings, certificate, providers, store, machine, words, URLs. */
export async function runChecks(io: Io, world: CheckDependencies = {}): Promise<readonly CheckResult[]> {
  let config: Config
  try {
    config = loadConfig(io)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.faults.map(({ name, problem }) => {
      const [what = problem, next = 'see .env.example'] = problem.split(/: (.*)/)
      return fail(name, what, next)
    })
  }
  const clock = createClock()
  const dns = world.resolveTxt ?? createResolveTxt()
  const looks = [
    attempt('settings', () => checkSettings(config)),
    attempt('certificate', () => checkCertificate(config, clock.now())),
    attempt('providers', () => providersOf(config, clock)),
    attempt('sender', () => checkSender(config, dns)),
    attempt('DKIM', () => checkDkim(config, io.readFile, dns)),
    attempt('store', () => storeOf(config, io, clock)),
    attempt('machine', () => checkMachine(config, io.dotenvPath, world.machine ?? createMachine())),
    attempt('clock', () => checkClock(config, world.readServerDate ?? readServerDate, Date.now)),
    attempt('templates', () => wordsOf(config)),
    attempt('URLs', () => callbacksOf(config)),
    attempt('alerts', () => alertsOf(config)),
  ]
  return (await Promise.all(looks)).flat()
}

/** A look that fails in a way nobody foresaw is a finding, too: the other looks go on. */
async function attempt(
  about: string,
  act: () => readonly CheckResult[] | Promise<readonly CheckResult[]>,
): Promise<readonly CheckResult[]> {
  try {
    return await act()
  } catch (error) {
    return [
      fail(
        about,
        error instanceof Error ? error.message : String(error),
        'this was not foreseen: please report it',
      ),
    ]
  }
}

const silent = pino({ level: 'silent' })

async function providersOf(
  config: Config,
  clock: ReturnType<typeof createClock>,
): Promise<readonly CheckResult[]> {
  const checks = providerModules.map(async module => {
    const provider = await module.open(config, { clock, limits: module.limits })
    if (provider === undefined) return []
    try {
      return await module.check(config, provider)
    } finally {
      await provider.close()
    }
  })
  return (await Promise.all(checks)).flat()
}

async function storeOf(
  config: Config,
  io: Io,
  clock: ReturnType<typeof createClock>,
): Promise<readonly CheckResult[]> {
  const address = adminAddress(io)
  const running = async (): Promise<ServiceStatus> => {
    if ((await requestHealth(`${address}/healthz`)) !== null) return { is: 'absent' }
    const reason = await requestHealth(`${address}/readyz`)
    return reason === null ? { is: 'ready' } : { is: 'unready', reason }
  }
  const open = async () => openOutbox(config, clock, await openStoreKeys(config), silent)
  return await checkStore(config, open, running)
}

function wordsOf(config: Config): readonly CheckResult[] {
  const renderer = openRenderer(config, silent)
  try {
    return checkTemplates(config, renderer)
  } finally {
    renderer.close()
  }
}

async function callbacksOf(config: Config): Promise<readonly CheckResult[]> {
  if (config.PUBLIC_URL === undefined) return []
  const platform = createCallbackClient({ timeoutMs: 5000 })
  try {
    return await checkCallbackUrls(callbackUrls(config, config.PUBLIC_URL), config.CORP_ID, platform)
  } finally {
    await platform.close()
  }
}

/** Loaded only when they are on. */
async function alertsOf(config: Config): Promise<readonly CheckResult[]> {
  if (config.DDQ_HOST === undefined) return []
  const { checkAlerts } = await import('./check/alerts.ts')
  const renderer = openRenderer(config, silent)
  try {
    return await checkAlerts(config, renderer.locales)
  } finally {
    renderer.close()
  }
}
