import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { CarrierFault, CarrierServer } from '../../sandbox/carriers/api-server.ts'
import type { OutgoingSms } from '../../src/messages/message.ts'
import type { aliyun } from '../../src/providers/aliyun.ts'
import type { aliyunPnvs } from '../../src/providers/aliyun-pnvs.ts'
import type { Provider } from '../../src/providers/provider.ts'
import type { MappedTemplate, SmsTemplates, TemplateChoice } from '../../src/providers/sms-templates.ts'
import type { tencent } from '../../src/providers/tencent.ts'
import type { CheckResult } from '../../src/runtime/check-result.ts'
import { linesOf } from '../commands/check/lines.ts'
import { enough, load } from '../config/settings.ts'
import { settled } from '../rigs/virtual-time.ts'
import { type Behaviour, type ContractRig, never } from './contract.ts'
import { outgoingSms } from './sms.ts'
import { mail } from './smtp/rig.ts'

export const CODE = '607182'

/** A code to the mainland, for a carrier with templates. */
export function templateSms(changes: Partial<OutgoingSms> = {}): OutgoingSms {
  return outgoingSms({
    to: '+8613711112222',
    country: 'CN',
    params: { code: CODE, minute: '5' },
    text: () => {
      throw new Error('a carrier with templates asks for no text')
    },
    ...changes,
  })
}

type Refusal = 'refuse-recipient' | 'refuse-content' | 'refuse-for-now'

/** A carrier of SMS for the contract of providers. */
export interface CarrierSide<Message> extends Pick<ContractRig, 'provider' | 'wrongLogin'> {
  readonly message: () => OutgoingSms
  /** Our id of a message that arrived. */
  readonly idOf: (message: Message) => string
  /** What its refusals repeat: the number, the code, the secret. */
  readonly told: readonly string[]
  /** What must not show up in any outcome beside that. */
  readonly alsoSecret?: readonly string[]
  readonly refusals: (echo: string) => Readonly<Record<Refusal, CarrierFault>>
}

export function carrierContract<Message>(
  server: {
    readonly standIn: CarrierServer<unknown> & { readonly messages: readonly Message[] }
    fault: ((request: never) => CarrierFault | undefined) | undefined
  },
  { provider, wrongLogin, message, idOf, told, alsoSecret = [], refusals }: CarrierSide<Message>,
): ContractRig {
  const { standIn } = server
  const echo = [...told, 'https://platform.example/canaryLink'].join(' ')
  const faults: Readonly<Record<Exclude<Behaviour, 'well'>, CarrierFault>> = {
    ...refusals(echo),
    'stall-after-message': { is: 'stall', accept: true },
    'drop-after-message': { is: 'reset', accept: true },
    garbage: { is: 'answer', status: 502, body: `<html>${echo}</html>` },
  }
  return {
    provider,
    wrongLogin,
    message,
    foreign: mail(),
    secrets: [...told, ...alsoSecret, 'canaryLink', 'canary-wrong'],
    arrived: () => standIn.messages.map(idOf),
    sockets: () => standIn.connections(),
    behave(how) {
      server.fault = how === 'well' ? undefined : () => faults[how]
    },
    goDown: () => standIn.close(),
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), standIn.close()])
    },
  }
}

/** Compares what check says with its part of test/fixtures/carrier-checks.txt, which was read. */
export function isRecorded(t: Test, name: string, results: readonly CheckResult[]): void {
  const record = readFileSync(join(import.meta.dirname, '../fixtures/carrier-checks.txt'), 'utf8')
  const [, part = ''] = record.split(`= ${name}\n`)
  t.same(linesOf(results), part.split('\n= ', 1)[0]?.trimEnd().split('\n'))
}

/** A file of templates that maps these of a carrier and has these signatures of it. */
export const mappedBy =
  (templates: TemplateChoice, carrier: string) =>
  (mapped: readonly MappedTemplate[], signatures: readonly string[] = []): SmsTemplates => ({
    ...templates,
    mapped: name => (name === carrier ? mapped : []),
    signatures: name => (name === carrier ? signatures : []),
  })

type Module = typeof aliyun | typeof aliyunPnvs | typeof tencent

/** Opens a carrier by its settings, and asks it for its lines of `check`. */
export async function openAndCheck(
  t: Test,
  module: Module,
  settings: Readonly<Record<string, string>>,
  templates: SmsTemplates,
) {
  const config = load(settings)
  const [provider] = await module.open(config, { clock: { now: Date.now }, limits: module.limits, templates })
  if (provider === undefined) throw new Error('SMS is on')
  t.teardown(() => provider.close())
  return { provider, results: await module.check(config, provider, templates) }
}

interface StartedStandIn {
  readonly url: string
  readonly standIn: { close(): Promise<void> }
}

/** Starts a carrier's stand-in, and asks the carrier for its lines of `check`. */
export function checkCarrier<Server extends StartedStandIn, Options>(
  module: Module,
  startServer: (options?: Options) => Promise<Server>,
  settingsAt: (url: string) => Readonly<Record<string, string>>,
) {
  return async (
    t: Test,
    templates: SmsTemplates,
    options?: Options,
    more: Readonly<Record<string, string>> = {},
  ) => {
    const server = await startServer(options)
    t.teardown(() => server.standIn.close())
    return { server, ...(await openAndCheck(t, module, { ...settingsAt(server.url), ...more }, templates)) }
  }
}

/** Starts a carrier's stand-in, and a provider in front of it. */
export function startCarrier<Server extends StartedStandIn, Options, Settings>(
  startServer: (options?: Options) => Promise<Server>,
  open: (url: string, settings?: Settings) => Provider,
) {
  return async (t: Test, settings?: Settings, options?: Options) => {
    const server = await startServer(options)
    const provider = open(server.url, settings)
    t.teardown(async () => Promise.all([provider.close(), server.standIn.close()]))
    return { server, provider, send: async (message = templateSms()) => provider.send(message, never) }
  }
}

/** Closes a provider, after which no connection is open. */
export async function closesAll(
  t: Test,
  provider: Provider,
  { standIn }: { readonly standIn: Pick<CarrierServer<unknown>, 'connections'> },
) {
  await provider.close()
  // Both ends are in this process: it takes some turns, and no time.
  for (let turn = 0; turn < 1000 && standIn.connections() > 0; turn += 1) await settled()
  t.equal(standIn.connections(), 0, 'nor does a check keep a connection')
}

/** What a carrier alone does with reports. */
export async function openReports(
  { openReceipts }: typeof aliyun | typeof tencent,
  settings: Readonly<Record<string, string>>,
) {
  const config = load({ ...enough, ...settings })
  const source = await openReceipts?.(config)
  return { config, source, parse: (body: unknown) => source?.parseReports({ headers: {}, body, query: '' }) }
}
