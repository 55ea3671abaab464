import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import type { Channel } from '../src/messages/message.ts'
import { providerModules } from '../src/providers/list.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { ReceivedMail, ReceivedSms, SandboxRoute, StandIn, StandInModule } from './carriers/stand-in.ts'
import { createCertificate } from './certificate.ts'

/** Everybody the service depends on, on this machine, and the settings that point it at them. */
export interface StandIns {
  /** PEM of the certificate that the service and the mail server use, and its file. */
  readonly cert: string
  readonly certFile: string
  /** Where the stand-in of each provider listens, with its name for people. */
  readonly addresses: readonly { readonly title: string; readonly url: string }[]
  /** Newest first. */
  mails(): readonly ReceivedMail[]
  /** SMS that arrived since the last `clear`, oldest first. */
  sms(): readonly CarriedSms[]
  /** The SMS carriers, each with the numbers that go by it first. */
  readonly carriers: readonly SmsCarrier[]
  /** How the servers of a channel can be made to behave; `none` as they should. */
  faults(channel: Channel): readonly { readonly name: string; readonly title: string }[]
  /** @returns false when no server of the channel knows that fault. */
  setFault(channel: Channel, name: string): boolean
  clear(): void
  readonly settings: Readonly<Record<string, string>>
}

export interface CarriedSms extends ReceivedSms {
  /** The carrier's name for people. */
  readonly carrier: string
}

export interface SmsCarrier extends SandboxRoute {
  /** The provider's name, and the one for people. */
  readonly name: string
  readonly title: string
}

export const ENVELOPE_SENDER = 'bounces@courier.example'

/**
 * Starts the stand-in of every provider.
 * @param directory where the certificate and its key are written.
 * @param cleanup gets what must be undone at the end, also when a later step throws.
 * @param changed called when something arrived.
 */
export async function startStandIns(
  clock: Clock,
  directory: string,
  cleanup: AsyncDisposableStack,
  changed: () => void,
): Promise<StandIns> {
  const certificate = await createCertificate(clock.now())
  const certFile = join(directory, 'certificate.pem')
  const keyFile = join(directory, 'key.pem')
  await writeFile(certFile, certificate.cert)
  await writeFile(keyFile, certificate.key, { mode: 0o600 })
  cleanup.defer(trust(certificate.cert))

  const running: Running[] = []
  for (const { name } of providerModules) {
    const module = await loadStandIn(name)
    const standIn = await module.start({ certificate, clock, changed })
    cleanup.defer(() => standIn.close())
    running.push({ name, module, standIn })
  }
  const of = (channel: Channel) => running.filter(({ standIn }) => standIn.channel === channel)
  const carriers = running.flatMap(({ name, module: { title }, standIn }) =>
    standIn.channel === 'sms' ? [{ name, title, ...standIn.route }] : [],
  )

  return {
    cert: certificate.cert,
    certFile,
    addresses: running.map(({ module, standIn }) => ({ title: module.title, url: standIn.url })),
    mails: () => running.flatMap(({ standIn }) => (standIn.channel === 'email' ? standIn.mails() : [])),
    sms: () => listSms(running),
    carriers: carriers.filter(({ isSecond }) => isSecond !== true),
    faults: channel => listFaults(of(channel).map(({ module }) => module)),
    setFault(channel, name) {
      if (!of(channel).some(({ module }) => Object.hasOwn(module.faults, name))) return false
      // One that does not know it works as it should.
      for (const { standIn } of of(channel)) standIn.setFault(name)
      return true
    },
    clear() {
      for (const { standIn } of running) standIn.clear()
    },
    settings: Object.assign(
      {
        TLS_CERT_FILE: certFile,
        TLS_KEY_FILE: keyFile,
        MAIL_FROM: 'Example IoT <no-reply@courier.example>',
        MAIL_BOUNCE_TO: ENVELOPE_SENDER,
        SMS_ROUTES: routesOf(carriers),
        SMS_TEMPLATES_FILE: await writeTemplates(carriers, directory),
      },
      ...running.map(({ standIn }) => standIn.settings),
    ),
  }
}

interface Running {
  /** The provider's. */
  readonly name: string
  readonly module: StandInModule
  readonly standIn: StandIn
}

/** The SMS of all carriers, oldest first. */
function listSms(running: readonly Running[]): readonly CarriedSms[] {
  return running
    .flatMap(({ module: { title: carrier }, standIn }) =>
      standIn.channel === 'sms' ? standIn.sms().map(sms => ({ ...sms, carrier })) : [],
    )
    .sort((one, other) => one.at - other.at)
}

/** @returns the path of the file that maps kinds to the templates of the carriers' stand-ins */
async function writeTemplates(carriers: readonly SmsCarrier[], directory: string): Promise<string> {
  const path = join(directory, 'sms-templates.json')
  const templates = carriers.flatMap(({ name, templates }) => (templates ? [[name, templates]] : []))
  await writeFile(path, JSON.stringify(Object.fromEntries(templates)))
  return path
}

/** The route of a carrier's country has that carrier first, then the others with templates, and those that send text last. */
function routesOf(carriers: readonly SmsCarrier[]): string {
  const firsts = carriers.filter(({ isSecond }) => isSecond !== true)
  const rest = firsts.toSorted(
    (one, other) => Number(one.templates === undefined) - Number(other.templates === undefined),
  )
  return [
    ...firsts.map(first => {
      const seconds = carriers.filter(each => each.isSecond === true && each.country === first.country)
      const names = [first, ...seconds, ...rest.filter(each => each !== first)].map(({ name }) => name)
      return `${first.country}=${names.join(',')}`
    }),
    `*=${rest.flatMap(({ templates, name }) => (templates === undefined ? [name] : [])).join(',')}`,
  ].join('; ')
}

/** @param name the provider's, as in src/providers/list.ts. */
export async function loadStandIn(name: string): Promise<StandInModule> {
  const { standIn } = (await import(`./carriers/${name}.ts`)) as { readonly standIn: StandInModule }
  return standIn
}

/** Each fault once, by the title of the first stand-in that knows it. */
function listFaults(modules: readonly StandInModule[]) {
  const titles = new Map<string, string>()
  for (const { faults } of modules)
    for (const [name, { title }] of Object.entries(faults)) if (!titles.has(name)) titles.set(name, title)
  return [...titles].map(([name, title]) => ({ name, title }))
}

/**
 * Makes this process trust the certificate beside the usual authorities, so that the service's STARTTLS verifies the
 * mail server as it would any other, instead of being told to look away. Gives back how to undo it.
 */
function trust(cert: string): () => void {
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, cert])
  return () => tls.setDefaultCACertificates(before)
}
