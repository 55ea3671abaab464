import { say, type Words, wordsOf } from '../../language/sentence.ts'
import type { OutgoingSms } from '../../messages/message.ts'
import { countSegments } from '../../messages/sms-segments.ts'
import { objectOf, parseJson } from '../../runtime/json-object.ts'
import type { ParsedSetting, SettingFault, Values } from '../../settings/setting.ts'
import { missingSetting, settingWithReader } from '../../settings/setting.ts'
import { templateFaultOf } from '../../words/template-engine.ts'
import { diagnoseExchange, unverified } from '../diagnosis.ts'
import type { HttpApi, HttpApiSettings, HttpLimits, HttpRequest } from '../http-client.ts'
import { createHttpApi, longestExchangeMs, outcomeWithoutAnswer } from '../http-client.ts'
import { checkLogin, type ProviderFamily, type ProviderModule, proxyOf } from '../module.ts'
import type { Provider, ScopeNames, Verification } from '../provider.ts'
import { checkUnsignedReceipts, receiptKeys, receiptPath } from '../receipts.ts'
import { createRedactor, NO_MESSAGE } from '../redact.ts'
import { createSmsProvider } from '../sms-provider.ts'
import type { TemplateChoice } from '../sms-templates.ts'
import { createGatewayReceipts, gatewayOutcome, readReply } from './answers.ts'
import { type Gateway, parseGateways } from './definition.ts'
import { fixedScope, RequestFault, usesVariable } from './request.ts'

// Settings

/** HTTP gateways that the operator describes. */
const gatewaySettings = {
  SMS_GATEWAYS: settingWithReader(parseGateways, {
    secret: true,
    meaning:
      'SMS carriers with an HTTP API and robots of groups, by name, as YAML or JSON: see docs/sms-gateways.md. As a rule a file, SMS_GATEWAYS_FILE.',
    example: '{"my-gateway": {"request": {"url": "https://sms.example.com/send", "json": "{}"}}}',
  }),
  SMS_GATEWAY_SECRETS: settingWithReader(readSecrets, {
    secret: true,
    meaning: 'The secrets that SMS_GATEWAYS names as secrets.NAME, as JSON on one line or in a file.',
    example: '{"my_gateway": "the-secret-of-the-gateway"}',
  }),
} as const

const SECRETS =
  'must be JSON such as {"my_gateway": "the-secret"}: names of letters, digits and _, each with a text'

function readSecrets(text: string): ParsedSetting<ReadonlyMap<string, string>> {
  const secrets = Object.entries(objectOf(parseJson(text)) ?? { '': '' })
  const isRight = secrets.every(
    ([name, secret]) => /^\w{1,64}$/.test(name) && typeof secret === 'string' && secret !== '',
  )
  return isRight ? { value: new Map(secrets as readonly [string, string][]) } : { fault: SECRETS }
}

/** Secrets that the file names and nobody gives. */
function findFaults(s: Partial<Values<typeof gatewaySettings>>): readonly SettingFault[] {
  const { SMS_GATEWAYS: gateways = [], SMS_GATEWAY_SECRETS: secrets = new Map() } = s
  return gateways.flatMap(({ name, secrets: needed }) =>
    needed
      .filter(each => !secrets.has(each))
      .map(each =>
        missingSetting('SMS_GATEWAY_SECRETS', say('{name} needs secrets.{each} in it', { name, each })),
      ),
  )
}

// Request

export interface GatewaySettings extends HttpApiSettings {
  readonly gateway: Gateway
  /** The secrets by their names in the file; all that it needs. */
  readonly secrets: ReadonlyMap<string, string>
  readonly templates: TemplateChoice
  /** Where it reports what became of a message; undefined: nowhere. */
  readonly reportUrl: string | undefined
}

/** Sends SMS by an HTTP gateway as the operator's file describes it, one recipient a request. */
export function createGatewayProvider(settings: GatewaySettings): Provider {
  const { gateway, secrets, clock } = settings
  const { name, origin, concurrency } = gateway
  const api = createHttpApi({ ...settings, baseUrl: origin, connections: concurrency })
  return createSmsProvider({
    name,
    concurrency,
    clock,
    pack: message => packMessage(settings, message),
    namesOf: (_request, message) => namesOf(settings, message),
    async send(message, request: HttpRequest, signal) {
      const result = await api.request(request, signal, message.expiresAt)
      if (!('value' in result)) return outcomeWithoutAnswer(result, name)
      const redactor = createRedactor(message, [...secrets.values(), ...Object.values(message.params)])
      return gatewayOutcome(gateway.answer, readReply(result.value), redactor, clock.now())
    },
    probe: api.probe,
    verify: () => verifyLogin(api, settings),
    close: api.close,
    requestOf(message) {
      if (['text', 'unicode', 'template'].some(each => usesVariable(gateway.request, each))) return null
      // The names of the secrets stand for them.
      const names = new Map([...secrets.keys()].map(each => [each, `secrets.${each}`]))
      const request = packMessage({ ...settings, secrets: names }, message)
      return 'why' in request
        ? String(request.why)
        : `${request.method} ${origin}${request.path} ${request.body ?? ''}`
    },
  })
}

/** The template and the sender that a message brings along; another one stands in the file. */
function namesOf({ gateway, templates }: GatewaySettings, message: OutgoingSms): Omit<ScopeNames, 'country'> {
  const use = templates.templateFor(gateway.name, message)
  const signed = 'why' in use ? undefined : use.signature
  return { ...('why' in use ? {} : { template: use.template }), sender: fromOf(message) ?? signed }
}

/** The number or the name that the message is from; a messaging service is Twilio's alone. */
function fromOf({ sender }: OutgoingSms): string | undefined {
  return sender !== undefined && 'from' in sender ? sender.from : undefined
}

/** Fills the request. @returns why it cannot be, in words that tell nothing of what the message says */
function packMessage(settings: GatewaySettings, message: OutgoingSms): HttpRequest | { readonly why: Words } {
  const { gateway, templates, clock } = settings
  const uses = (name: string): boolean => usesVariable(gateway.request, name)
  const use = uses('template') ? templates.templateFor(gateway.name, message) : undefined
  if (use !== undefined && 'why' in use) return use
  const text = uses('text') || uses('unicode') ? message.text() : ''
  const seconds = Math.max(1, Math.floor((message.expiresAt - clock.now()) / 1000))
  try {
    return gateway.request({
      ...fixedScope(settings.secrets, gateway.request),
      report_url: settings.reportUrl ?? null,
      id: message.id,
      to: message.to,
      number: message.to.slice(1),
      country: message.country,
      kind: message.kind,
      locale: message.locale,
      sender: fromOf(message) ?? null,
      text,
      unicode: uses('unicode') && countSegments(text).encoding !== 'GSM-7',
      seconds,
      minutes: Math.max(1, Math.floor(seconds / 60)),
      params: message.params,
      ...(use !== undefined && {
        template: { id: use.template, signature: use.signature ?? null, params: use.params },
      }),
    })
  } catch (error) {
    if (error instanceof RequestFault)
      return { why: say('its request {problem}', { problem: wordsOf(error) }) }
    const [, name = 'something'] = /^undefined variable: ([\w.]+)/.exec(templateFaultOf(error).message) ?? []
    return { why: say('its request says {name}, which the message does not have', { name }) }
  }
}

const IS_ANYBODY_THERE: HttpRequest = { method: 'HEAD', path: '/', headers: {}, body: null }

/** Asks by the file's own question; without one whether anybody answers, which says nothing of the login. */
async function verifyLogin(api: HttpApi, settings: GatewaySettings): Promise<Verification> {
  const { gateway, secrets, clock } = settings
  const { check, origin } = gateway
  const report_url = settings.reportUrl ?? null
  const result = await api.request(check?.({ ...fixedScope(secrets, check), report_url }) ?? IS_ANYBODY_THERE)
  if (!('value' in result)) return unverified(diagnoseExchange(result, origin, 'SMS_GATEWAYS_FILE'))
  if (check === undefined)
    return {
      ok: true,
      detail: 'it answers; whether the login works shows with the first SMS',
      next: 'add a check',
    }
  // The id is of a message, which there is none of here.
  const answer = { ...gateway.answer, id: undefined }
  const redactor = createRedactor(NO_MESSAGE, [...secrets.values()])
  const outcome = gatewayOutcome(answer, readReply(result.value), redactor, clock.now())
  return outcome.is === 'sent'
    ? { ok: true, detail: 'the login works' }
    : { ok: false, detail: outcome.reply }
}

// The module

/** HTTP gateways, each a carrier by its own name. */
export const httpGateway: ProviderFamily<'http-gateway', 'sms', typeof gatewaySettings> = {
  name: 'http-gateway',
  channel: 'sms',
  settings: gatewaySettings,
  findFaults,
  members: ({ SMS_GATEWAYS: gateways = [] }) =>
    gateways.filter(({ channel }) => channel === 'sms').map(moduleOf),
}

function moduleOf(gateway: Gateway): ProviderModule<string, 'sms', typeof gatewaySettings, HttpLimits> {
  const { name, reports, limits } = gateway
  return {
    name,
    channel: 'sms',
    settings: gatewaySettings,
    limits,
    findFaults: () => [],
    longestAttemptMs: (_config, used) => longestExchangeMs(used),
    async open(config, { clock, limits: used, templates }) {
      if (config.SMS_TOKEN === undefined) return []
      const [key] = receiptKeys(name, config)
      const { PUBLIC_URL: base, SMS_GATEWAY_SECRETS: secrets = new Map() } = config
      const reportUrl =
        base === undefined || reports === undefined ? undefined : `${base}${receiptPath(name)}/${key}`
      const provider = createGatewayProvider({
        gateway,
        secrets: new Map(gateway.secrets.map(each => [each, secrets.get(each) ?? ''])),
        templates,
        reportUrl,
        clock,
        limits: used,
        proxy: proxyOf(config),
      })
      return [provider]
    },
    async check(config, provider) {
      const login = await checkLogin(
        provider,
        say('look at {name} in SMS_GATEWAYS_FILE, and at SMS_GATEWAY_SECRETS', { name }),
      )
      return reports === undefined ? [login] : [login, checkUnsignedReceipts(name, config)]
    },
    async openReceipts(config) {
      if (config.SMS_TOKEN === undefined || reports === undefined) return undefined
      return createGatewayReceipts(name, reports, receiptKeys(name, config))
    },
  }
}
