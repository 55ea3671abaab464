import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { createCallbackClient } from '../src/platform/callback-client.ts'
import { SAMPLE_RECIPIENT } from '../src/platform/sample-callbacks.ts'
import { createClock } from '../src/runtime/clock.ts'
import { startService } from '../src/service/service.ts'
import { createEmulator } from './emulator/emulator.ts'
import { createEmulatorPage } from './emulator/page.ts'
import type { SandboxOptions } from './options.ts'
import { type Ends, type Peers, secret, startPeers } from './peers.ts'
import { createPlayer, type Player } from './player.ts'
import { usualOrFree } from './ports.ts'
import type { About } from './state.ts'

/** The service, and everybody it talks to, up and running on this machine. */
export interface Stage {
  readonly about: About
  readonly peers: Peers
  readonly player: Player
  /** Tells the page of the devices where the sandbox's page is. */
  linkBack(url: string): void
  /** The last lines of the service's log, newest last. */
  log(): readonly string[]
  close(): Promise<void>
}

export interface StageOptions extends Pick<SandboxOptions, 'ports' | 'settings'> {
  /** Port of the page of devices that raise alerts, any free one unless given; false: no devices. */
  readonly devices?: number | false
}

const LOG_LINES = 500

/**
 * Sets the stage: a certificate, an SMTP server, Twilio's stand-in, the service with settings that point at them,
 * and a platform that trusts the certificate.
 *
 * @param changed called whenever there is something new to see.
 * @throws what stopped one of them from starting; whatever was started by then is ended again.
 */
export async function setStage(options: StageOptions, changed: () => void = () => {}): Promise<Stage> {
  const ends: Ends = []
  // In the reverse order of the start: the service lets go of its connections before its peers go away.
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    return { ...(await raise(options, ends, changed)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function raise(options: StageOptions, ends: Ends, changed: () => void): Promise<Omit<Stage, 'close'>> {
  const clock = createClock()
  const directory = await mkdtemp(join(tmpdir(), 'callback-courier-'))
  ends.push(() => rm(directory, { recursive: true, force: true }))
  const peers = await startPeers(clock, directory, ends, changed)
  const devices = options.devices === false ? null : await startDevices(options.devices ?? 0, ends)

  const settings = {
    ...(await ownSettings(directory, options.ports)),
    ...peers.settings,
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
  ends.push(() => service.close())

  const platform = createCallbackClient({ ca: peers.cert, now: () => clock.now() })
  ends.push(() => platform.close())
  const { CORP_ID: corpId, EMAIL_TOKEN: email, SMS_TOKEN: sms } = settings
  const urls = { email: service.urls.email ?? '', sms: service.urls.sms ?? '' }
  const player = createPlayer({
    platform,
    urls,
    credentials: { email: { corpId, token: email }, sms: { corpId, token: sms } },
    signPosts: service.config.POST_SIGNATURE === 'required',
    clock,
    randomInt,
    onPlayed: changed,
  })
  const about: About = {
    corpId,
    urls,
    tokens: { email, sms },
    certFile: peers.certFile,
    adminUrl: service.adminUrl,
    consoleUrl: await consoleOf(service.adminUrl),
    smtp: peers.smtp,
    twilio: peers.twilio,
    devicesUrl: devices?.url ?? null,
  }
  return { about, peers, player, linkBack: url => devices?.linkBack(url), log: () => log }
}

/** A platform with devices, and the page to press their buttons; the service tells one person of everything. */
async function startDevices(port: number, ends: Ends) {
  let changed = () => {}
  let sandboxUrl: string | undefined
  const emulator = await createEmulator({ corpId: CORP_ID, changed: () => changed() })
  ends.push(() => emulator.close())
  const page = createEmulatorPage({ emulator, sandboxUrl: () => sandboxUrl })
  changed = () => page.changed()
  ends.push(() => page.close())
  const url = await page.listen(port)
  const to = `${SAMPLE_RECIPIENT.email}, ${SAMPLE_RECIPIENT.sms}`
  return {
    url,
    settings: {
      ...emulator.settings,
      ALERTS: ['alert', 'state', 'event'].map(topic => `${topic} * 0 - ${to}`).join('; '),
    },
    linkBack(back: string) {
      sandboxUrl = back
      page.changed()
    },
  }
}

const CORP_ID = 'sandbox'

async function ownSettings(directory: string, ports: SandboxOptions['ports']) {
  return {
    CORP_ID,
    EMAIL_TOKEN: secret(),
    SMS_TOKEN: secret(),
    HOST: '127.0.0.1',
    PORT: String(ports.callbacks ?? (await usualOrFree(8443))),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(ports.admin ?? (await usualOrFree(9090))),
    DATABASE_URL: `file:${join(directory, 'outbox.db')}`,
    STORE_SECRET: secret(),
    DEFAULT_AREA_CODE: '86',
    SMS_COUNTRIES: '*',
    BRAND_NAME: 'Example IoT',
    // One person presses one button many times here.
    QUOTA_RECIPIENT_PER_10_MINUTES: 'off',
    QUOTA_RECIPIENT_PER_DAY: 'off',
    QUOTA_SMS_PREFIX_PER_10_MINUTES: 'off',
  }
}

async function consoleOf(adminUrl: string): Promise<string | null> {
  const url = `${adminUrl}/console`
  const { statusCode, body } = await request(url)
  await body.dump()
  return statusCode === 200 ? url : null
}
