import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { createCallbackClient } from '../src/commands/callback-client.ts'
import { languageOfBrowser } from '../src/language/choose.ts'
import type { ReaderLanguage } from '../src/language/sentence.ts'
import { createClock } from '../src/runtime/clock.ts'
import { startService } from '../src/service/service.ts'
import { type CallbackSender, createCallbackSender } from './callback-sender.ts'
import { randomSecret } from './carriers/stand-in.ts'
import { createEmulator } from './emulator/emulator.ts'
import { createEmulatorPage } from './emulator/page.ts'
import { type SandboxCommandOptions, usualOrFreePort } from './options.ts'
import type { ConnectionDetails } from './page.ts'
import { SAMPLE_RECIPIENT } from './sample-callbacks.ts'
import { type StandIns, startStandIns } from './stand-ins.ts'

/** The service, and everybody it talks to, running on this machine. */
export interface Sandbox {
  readonly about: ConnectionDetails
  readonly standIns: StandIns
  readonly callbackSender: CallbackSender
  /** Gives the page of the devices a link to the sandbox's page. */
  linkDevicesTo(url: string): void
  /** The last lines of the service's log, newest last. */
  log(): readonly string[]
  close(): Promise<void>
}

export interface SandboxOptions extends Pick<SandboxCommandOptions, 'ports' | 'settings'> {
  /** Port of the page of devices that raise alerts, any free one unless given; false: no devices. */
  readonly devices?: number | false
  /** Of the messages, unless the settings say otherwise; English unless given. */
  readonly language?: ReaderLanguage | undefined
}

const LOG_LINES = 500

/**
 * Starts a mail server, the stand-ins of the SMS carriers, the service with settings that point at them, and a platform that trusts the
 * service's self-signed certificate.
 *
 * @param changed called whenever there is something new to see.
 * @throws what stopped one of them from starting; whatever was started by then is ended again.
 */
export async function startSandbox(
  options: SandboxOptions,
  changed: () => void = () => {},
): Promise<Sandbox> {
  // The service was started last and ends first: it closes its connections before the servers go away.
  const cleanup = new AsyncDisposableStack()
  const close = () => cleanup.disposeAsync()
  try {
    return { ...(await startParts(options, cleanup, changed)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function startParts(
  options: SandboxOptions,
  cleanup: AsyncDisposableStack,
  changed: () => void,
): Promise<Omit<Sandbox, 'close'>> {
  const clock = createClock()
  const directory = await mkdtemp(join(tmpdir(), 'callback-courier-'))
  cleanup.defer(() => rm(directory, { recursive: true, force: true }))
  const standIns = await startStandIns(clock, directory, cleanup, changed)
  const devices = options.devices === false ? null : await startDevices(options.devices ?? 0, cleanup)

  const own = Object.keys(options.settings).filter(
    name => name in standIns.settings || (CHANNELS.has(name) && options.settings[name] === ''),
  )
  if (own.length > 0) throw new Error(`--set ${own.join(', ')}: the sandbox needs its own there`)
  const settings = {
    ...(await serviceSettings(directory, options.ports)),
    LOCALE: options.language ?? 'en',
    ...standIns.settings,
    ...devices?.settings,
    ...options.settings,
  }
  const log: string[] = []
  const service = await startService(settings, {
    log: {
      write(line) {
        log.push(line.trimEnd())
        if (log.length > LOG_LINES) log.shift()
        changed()
      },
    },
  })
  cleanup.defer(() => service.close())

  const platform = createCallbackClient({ ca: standIns.cert, now: () => clock.now() })
  cleanup.defer(() => platform.close())
  const { CORP_ID: corpId, EMAIL_TOKEN: email, SMS_TOKEN: sms } = settings
  const urls = { email: service.urls.email ?? '', sms: service.urls.sms ?? '' }
  const callbackSender = createCallbackSender({
    platform,
    urls,
    credentials: { email: { corpId, token: email }, sms: { corpId, token: sms } },
    signPosts: service.config.POST_SIGNATURE === 'required',
    language: languageOfBrowser(service.config.LOCALE),
    clock,
    randomInt,
    onSent: changed,
  })
  const about: ConnectionDetails = {
    corpId,
    urls,
    tokens: { email, sms },
    certFile: standIns.certFile,
    adminUrl: service.adminUrl,
    consoleUrl: await findConsole(service.adminUrl),
    carriers: standIns.addresses,
    devicesUrl: devices?.url ?? null,
  }
  return { about, standIns, callbackSender, linkDevicesTo: url => devices?.linkTo(url), log: () => log }
}

/** Starts the emulated platform and its page. The settings send every alert of a device to one recipient. */
async function startDevices(port: number, cleanup: AsyncDisposableStack) {
  let changed = () => {}
  let sandboxUrl: string | undefined
  const emulator = await createEmulator({ corpId: CORP_ID, changed: () => changed() })
  cleanup.defer(() => emulator.close())
  const page = createEmulatorPage({ emulator, sandboxUrl: () => sandboxUrl })
  changed = () => page.changed()
  cleanup.defer(() => page.close())
  const url = await page.listen(port)
  const recipients = `${SAMPLE_RECIPIENT.email}, ${SAMPLE_RECIPIENT.sms}`
  return {
    url,
    settings: {
      ...emulator.settings,
      ALERTS: ['alert', 'state', 'event'].map(topic => `${topic} * 0 - ${recipients}`).join('; '),
    },
    linkTo(other: string) {
      sandboxUrl = other
      page.changed()
    },
  }
}

const CORP_ID = 'sandbox'
/** Both are played, so both are on. */
const CHANNELS = new Set(['EMAIL_TOKEN', 'SMS_TOKEN'])

async function serviceSettings(directory: string, ports: SandboxCommandOptions['ports']) {
  return {
    CORP_ID,
    EMAIL_TOKEN: randomSecret(),
    SMS_TOKEN: randomSecret(),
    HOST: '127.0.0.1',
    PORT: String(ports.callbacks ?? (await usualOrFreePort(8443))),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(ports.admin ?? (await usualOrFreePort(9090))),
    DATABASE_URL: `file:${join(directory, 'outbox.db')}`,
    STORE_SECRET: randomSecret(),
    DEFAULT_AREA_CODE: '86',
    SMS_COUNTRIES: '*',
    BRAND_NAME: 'Example IoT',
    // In the sandbox one person sends many messages to the same recipient; a provider of one's own may be behind it, so that the
    // brakes for a whole channel stay on.
    QUOTAS: 'recipient-10m=off recipient-day=off sms-prefix-10m=off alarm-recipient-hour=off',
  }
}

/** Null when the service has no console. */
async function findConsole(adminUrl: string): Promise<string | null> {
  const url = `${adminUrl}/console`
  const { statusCode, body } = await request(url)
  await body.dump()
  return statusCode === 200 ? url : null
}
