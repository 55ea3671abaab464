import { getCACertificates } from 'node:tls'
import { pino } from 'pino'
import { describeReply } from '../admin/console/html.ts'
import { REPORTED_WITHIN_MS } from '../admin/ends.ts'
import { CHECKED_KINDS, type Fact } from '../admin/facts.ts'
import { CHECK_AGENT } from '../callback/routes.ts'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { languageOfBrowser, languageOfTerminal } from '../language/choose.ts'
import { quote, type ReaderLanguage, say, tell, term, type Words, wordsOf } from '../language/sentence.ts'
import type { MessageView } from '../outbox/outbox.ts'
import { modulesOf } from '../providers/list.ts'
import type { Outcome } from '../providers/provider.ts'
import { openAccessTokens } from '../providers/smtp/module.ts'
import { type CheckResult, checksOf } from '../runtime/check-result.ts'
import { type Clock, createClock } from '../runtime/clock.ts'
import { padColumn } from '../runtime/terminal.ts'
import { callbackUrls, openReceiptSources } from '../service/callback-urls.ts'
import { openOutbox, openRenderer, openRobots, openStoreKeys } from '../service/factories.ts'
import { findFileFaults } from '../service/files.ts'
import { listProbes } from '../service/probe.ts'
import { findUnsendable, withProviders } from '../service/sample-sms.ts'
import type { SettingFault } from '../settings/setting.ts'
import { trustAuthorities } from '../tls/certificate.ts'
import type { Renderer } from '../words/render.ts'
import { askService } from './ask-service.ts'
import { createCallbackClient } from './callback-client.ts'
import { checkAlerts } from './check/alerts.ts'
import { checkCallbackUrls, checkCertificate } from './check/callback-urls.ts'
import { checkMachine, checkStore, type MachineLimits, thisMachine } from './check/machine.ts'
import { checkEventReceiver } from './check/receivers.ts'
import { checkDkim, checkSender, createResolveTxt, type ResolveTxt } from './check/sender.ts'
import { checkSettings, checkTemplates, resultOfFault } from './check/settings.ts'
import { type Command, type Io, readArguments } from './command.ts'
import { requestHealth } from './health.ts'

export const check: Command = async (argv, io) => {
  const { values } = readArguments(argv, { json: { type: 'boolean' }, robots: { type: 'boolean' } })
  const language = values.json === true ? 'en' : languageOfTerminal(io.env)
  const results = await runChecks(io, { language, robots: values.robots === true })
  io.stdout.write(values.json === true ? formatAsJson(results) : formatAsText(results, language))
  return results.some(({ is }) => is === 'fail') ? 1 : 0
}

/** The sources that checks ask outside of this process; DNS, servers and the machine unless given. */
export interface CheckDependencies {
  readonly resolveTxt?: ResolveTxt
  readonly machine?: MachineLimits
  /** The language that the running service answers in; English unless given. */
  readonly language?: ReaderLanguage
  /** A test is posted to the groups; it is not unless asked for. */
  readonly robots?: boolean
}

/** Runs all checks at the same time. @returns their results in the order in which they stand here. */
export async function runChecks(
  io: Io,
  dependencies: CheckDependencies = {},
): Promise<readonly CheckResult[]> {
  const files: SettingFault[] = []
  let config: Config
  try {
    config = loadConfig(io, settings => {
      files.push(...findFileFaults(settings, io.readFile))
      return []
    })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...error.faults, ...files].map(failOf)
  }
  const faulty = new Set(files.map(({ name }) => String(name)))
  // What a faulty file is for is left out of what is tried.
  const usable: Config = {
    ...config,
    ...Object.fromEntries([...faulty].map(name => [name, undefined])),
    DATABASE_URL: config.DATABASE_URL,
  }
  // The callback URLs are checked as the platform sees them, which knows nothing of TLS_CA_FILE.
  const trusted = usable.TLS_CA_FILE === undefined ? {} : { ca: getCACertificates('default').join('\n') }
  trustAuthorities(usable.TLS_CA_FILE, io.readFile)
  const clock = createClock()
  const resolveTxt = dependencies.resolveTxt ?? createResolveTxt()
  const { machine = thisMachine } = dependencies
  const renderer = openRenderer(usable, silent)
  const checks: readonly (readonly [about: string, check: () => Results])[] = [
    ['files', () => files.map(failOf)],
    ['settings', () => checkSettings(config)],
    ['certificate', () => checkCertificate(usable, clock.now())],
    ['providers', () => checkProviders(usable)],
    ['sender', () => checkSender(usable, resolveTxt)],
    ['DKIM', () => checkDkim(usable, io.readFile, resolveTxt)],
    ['PROBE_TO', () => checkProbes(usable)],
    ['store', () => (faulty.has('DATABASE_URL') ? [] : checkStoreOrService(usable, io, clock))],
    ['machine', () => checkMachine(usable, io.dotenvPath, machine)],
    ['templates', () => (faulty.has('TEMPLATES_DIR') ? [] : checkTemplates(renderer, usable))],
    ['URLs', () => checkPublicUrls(usable, trusted)],
    ['service', () => askForFacts(io, dependencies.language ?? 'en')],
    ['reports', async () => askForReports(io, clock.now(), await listAwaited(usable))],
    ['alerts', () => checkAlerts(usable, renderer.locales)],
    ['robots', () => (dependencies.robots === true ? checkRobots(renderer, usable) : [])],
    ['EVENTS_URL', () => checkEventReceiver(usable, clock)],
    ['BOUNCE_IMAP_URL', () => checkBounceMailbox(usable, clock)],
  ]
  try {
    return (await Promise.all(checks.map(([about, check]) => attempt(about, check)))).flat()
  } finally {
    renderer.close()
  }
}

type Results = Iterable<CheckResult> | Promise<Iterable<CheckResult>>

const failOf = (fault: SettingFault) => resultOfFault('fail', fault)

/** Turns an unexpected error of a check into a result, so that the other checks go on. */
async function attempt(about: string, check: () => Results): Promise<readonly CheckResult[]> {
  try {
    return [...(await check())]
  } catch (error) {
    return [checksOf(about).fail(wordsOf(error), 'this was not foreseen: please report it')]
  }
}

const silent = pino({ level: 'silent' })

/** Tries each provider, and names the kinds that no carrier of a route can send. */
async function checkProviders(config: Config): Promise<readonly CheckResult[]> {
  try {
    return await withProviders(config, async opened => {
      const checks = modulesOf(config).flatMap(module =>
        opened.providers
          // A second mail server has a name of its own.
          .filter(
            ({ channel, name }) =>
              name === module.name || (channel === 'email' && channel === module.channel),
          )
          .map(each => module.check(config, each, opened.templates)),
      )
      const unsendable = config.SMS_TEMPLATES_FILE === undefined ? [] : findUnsendable(config, opened)
      return [
        ...(await Promise.all(checks)).flat(),
        ...unsendable.map(what => checksOf('SMS_TEMPLATES_FILE').warn(what, MAP_THEM)),
      ]
    })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.faults.map(fault => failOf({ remedy: 'see docs/sms.md', ...fault }))
  }
}

/** Names the channels by which no code goes to PROBE_TO. */
async function checkProbes(config: Config): Promise<readonly CheckResult[]> {
  if (config.PROBE_TO === undefined) return []
  const reporting = new Set((await openReceiptSources(config)).map(({ provider }) => provider))
  const next = say('mend that, or take it out of PROBE_TO')
  return listProbes(config, reporting).gaps.map(what => checksOf('PROBE_TO').warn(what, next))
}

const MAP_THEM = say('map them to an approved template, or to the one of another code: docs/sms.md')

async function checkStoreOrService(config: Config, io: Io, clock: Clock): Promise<readonly CheckResult[]> {
  const running = await requestHealth(io, '/healthz')
  // One that does not answer holds its store all the same.
  const isThere = running.is === 200 || running.is === 'silent'
  const ready = running.is === 200 ? await requestHealth(io, '/readyz') : running
  const unready = ready.is === 200 ? null : isThere ? ready.answer : undefined
  const open = async () => openOutbox(config, clock, await openStoreKeys(config), silent)
  return await checkStore(config, open, unready)
}

/** Says what the running service has met, such as a carrier's account without money, or callbacks that are refused. */
export async function askForFacts(io: Io, language: ReaderLanguage): Promise<readonly CheckResult[]> {
  const asked = await askService(io, language, '/causes')
  if ('why' in asked)
    return asked.status === null || asked.status === 404
      ? []
      : [checksOf('service').warn(asked.why, say('run check with the settings of the running service'))]
  const { causes } = asked.answer as { readonly causes: readonly Fact[] }
  return causes
    .filter(({ kind }) => !CHECKED_KINDS.has(kind))
    .map(({ about, level, text }) => ({ about, is: level, what: quote(String(text)), next: FROM_SERVICE }))
}

/** Lists the carriers by whose reports a number becomes known to `sms-newcomers-hour`; none while that is off. */
async function listAwaited(config: Config): Promise<readonly string[]> {
  if (config.QUOTAS['sms-newcomers-hour'] === 0) return []
  return (await openReceiptSources(config)).map(({ provider }) => provider)
}

/**
 * Names the carriers that have reported on none of the SMS that they took last, ten minutes ago or earlier.
 * @param awaited those whose reports `sms-newcomers-hour` needs.
 */
export async function askForReports(
  io: Io,
  now: number,
  awaited: readonly string[],
): Promise<readonly CheckResult[]> {
  const asked = await askService(io, 'en', '/messages?channel=sms&state=sent')
  const { messages = [] } = ('answer' in asked ? asked.answer : {}) as { messages?: readonly MessageView[] }
  const taken = new Map<string, number>()
  const reported = new Set<string>()
  for (const { timeline, receipt, finalAt } of messages) {
    const provider = timeline.findLast(({ outcome }) => outcome === 'sent')?.provider
    if (provider === undefined) continue
    if (receipt !== null) reported.add(provider)
    if (now - (finalAt ?? now) >= REPORTED_WITHIN_MS) taken.set(provider, (taken.get(provider) ?? 0) + 1)
  }
  return [...taken].flatMap(([provider, count]) => {
    if (reported.has(provider)) return []
    const what = say('has sent no report on the last {count} SMS that it took', { count })
    const forever = say('sms-newcomers-hour takes everybody whom {provider} sends to for new, for ever', {
      provider,
    })
    return [
      checksOf(provider).warn(what, SWITCH_ON),
      ...(awaited.includes(provider) ? [checksOf('QUOTAS').warn(forever, SWITCH_ON)] : []),
    ]
  })
}

const SWITCH_ON = say('switch its delivery reports on, here and at the carrier: docs/sms.md')
const FROM_SERVICE = say('the running service says so; its console has the rest')

/** @param trusted PEM of the authorities that the platform trusts, where they are not those of this process. */
async function checkPublicUrls(
  config: Config,
  trusted: { readonly ca?: string },
): Promise<readonly CheckResult[]> {
  if (config.PUBLIC_URL === undefined) return []
  const options = { timeoutMs: 5000, userAgent: CHECK_AGENT }
  const client = createCallbackClient({ ...options, ...trusted })
  const own = config.TLS_CA_FILE === undefined ? null : createCallbackClient(options)
  try {
    return await checkCallbackUrls(callbackUrls(config, config.PUBLIC_URL), config, client, own)
  } finally {
    await Promise.all([client.close(), own?.close()])
  }
}

/** Posts a text to each group that says that it is a test. */
async function checkRobots(renderer: Renderer, config: Config): Promise<CheckResult[]> {
  const outcomes = new Map<string, Outcome>()
  const robots = openRobots(config, renderer, createClock(), event => {
    if (event.type === 'robot-posted') outcomes.set(event.robot, event.outcome)
  })
  if (robots === null) return []
  robots.add(say('This is a test by “check”, and no alarm.').in(languageOfBrowser(config.LOCALE)))
  await robots.close()
  return (config.SMS_GATEWAYS ?? []).flatMap(({ channel, name }) => {
    const outcome = outcomes.get(name)
    if (channel !== 'chat') return []
    if (outcome?.is === 'sent') return checksOf(name).ok('took a test: look whether the group shows it')
    const what = outcome === undefined ? say('it does not answer') : describeReply(outcome)
    return checksOf(name).fail(what, 'look at it in SMS_GATEWAYS_FILE')
  })
}

/** Logs in at the mailbox that mails come back to, and reads none: the running service does. */
async function checkBounceMailbox(config: Config, clock: Clock): Promise<readonly CheckResult[]> {
  const { BOUNCE_IMAP_URL: address } = config
  if (address === undefined) return []
  const { tryMailbox } = await import('../bounces/mailbox.ts')
  const tokens = address.pass === '' ? await openAccessTokens(config, clock) : undefined
  const fault = await tryMailbox({ address, tokens })
  return [
    fault === null
      ? checksOf('BOUNCE_IMAP_URL').ok(say('logs in, and opens the folder'))
      : checksOf('BOUNCE_IMAP_URL').fail(fault.what, fault.next),
  ]
}

const WIDTH = 14
const LEVELS = { ok: say('ok'), warn: say('warn'), fail: say('fail') } as const

/** Formats results as lines for a terminal in its reader's language, with a count at the end. */
export function formatAsText(results: readonly CheckResult[], language: ReaderLanguage): string {
  // A server's line end must not begin a line of its own.
  const write = (words: Words) =>
    tell(words)
      .in(language)
      .replaceAll(/[\r\n]+/g, ' ')
  /** A name that is not known as a whole may be of several: a channel and a quota. */
  const nameOf = (about: CheckResult['about']): string => {
    if (typeof about !== 'string') return write(about)
    const whole = write(term(about))
    if (whole !== about) return whole
    return about
      .split(' ')
      .map(each => write(term(each)))
      .join(' ')
  }
  const lines = results.map(({ about, is, what, next }) => {
    const first = `${padColumn(LEVELS[is].in(language), 4)}  ${padColumn(nameOf(about), WIDTH)}  ${write(what)}\n`
    return next === undefined ? first : `${first}${' '.repeat(WIDTH + 8)}→ ${write(next)}\n`
  })
  const count = (is: CheckResult['is']) => results.filter(result => result.is === is).length
  const counts = { ok: count('ok'), warn: count('warn'), fail: count('fail') }
  return `${lines.join('')}\n${say('{ok} ok, {warn} to look at, {fail} failed', counts).in(language)}\n`
}

/** Formats results for a program, always in English. */
export function formatAsJson(results: readonly CheckResult[]): string {
  return `${JSON.stringify({ ok: results.every(({ is }) => is !== 'fail'), findings: results }, null, 2)}\n`
}
