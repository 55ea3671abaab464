import { quote, type Sentence, say, tell, type Words, withRemedy } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'
import { type CheckResult, checksOf } from '../runtime/check-result.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsonObject } from '../runtime/json-object.ts'
import type { SettingFault, Settings, Values } from '../settings/setting.ts'
import { missingSetting, missingSettings } from '../settings/setting.ts'
import { type Judgement, judgeStatus, msUntilNextTotal, outcomeOfRefusal } from './codes.ts'
import { diagnoseExchange, unverified } from './diagnosis.ts'
import type { HttpApiSettings, HttpLimits, HttpRequest } from './http-client.ts'
import { createHttpApi, longestExchangeMs, outcomeWithoutAnswer, unreadableAnswer } from './http-client.ts'
import { type JsonAnswer, objectsOf, readJsonAnswer } from './json-answer.ts'
import { type ChannelSettings, checkLogin, type ProviderModule, proxyOf } from './module.ts'
import type { LookUp, Outcome, Provider } from './provider.ts'
import type { CarrierReport, ReceiptSource } from './receipts.ts'
import { checkUnsignedReceipts, receiptKeys, receiptPath } from './receipts.ts'
import { createRedactor, NO_MESSAGE, type Redactor, readWord } from './redact.ts'
import { createSmsProvider } from './sms-provider.ts'
import type { MappedTemplate, SmsTemplates, TemplateChoice, TemplateUse } from './sms-templates.ts'

/** The state of a signature or template at its carrier. */
export type Approval = 'approved' | 'in-review' | 'not-in-force' | 'refused' | 'cancelled'

/** A signature or a template as its carrier lists it. */
export interface Listed {
  /** The signature itself, or the template's id. */
  readonly name: string
  readonly approval: Approval
  /** Why it was refused, in the carrier's words, redacted. */
  readonly reason?: string | undefined
  /** Of a signature: it may stand before verification codes only. */
  readonly codesOnly?: boolean
  /** What is known of a template alone: the numbers that it is for, and the variables in its text, from 1 where they are numbered. */
  readonly template?: {
    readonly region: 'mainland' | 'abroad' | 'both'
    readonly variables: readonly string[]
  }
}

/** A carrier's list of its templates or signatures; `cannotKnow`: why there is none. */
type List = { readonly items: readonly Listed[] } | { readonly cannotKnow: Words }

/** What every carrier is given that sends by approved templates. */
export interface TemplateCarrierSettings extends HttpApiSettings {
  readonly apiUrl: string
  /** The name of the key that signs requests, and its secret. */
  readonly keyId: string
  readonly secret: string
  /** The signature of a message whose template and plugin_id have none. */
  readonly signName?: string | undefined
  readonly templates: TemplateChoice
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
  /**
   * The wall clock, ms since the epoch: a signed request counts within some minutes of the carrier's clock, and the
   * service's own does not follow corrections of the machine's.
   */
  readonly wall?: () => number
}

/** What a carrier says of a whole request: it was processed, or why not. Without a code the answer is no answer of the carrier's. */
export type Reading = { readonly body: JsonObject } | Refused

interface Refused {
  readonly code: string
  readonly message: string
}

/** What it says of the one message of a request. */
export interface SentMessage extends Refused {
  /** Its own id of the message. */
  readonly id: string
}

/** A message in its template. */
export interface TemplateParcel {
  readonly template: string
  readonly signName: string | undefined
  readonly params: TemplateUse['params']
}

/** One of the lists of all that an account has. */
interface AccountList {
  readonly action: string
  /** The field of the answer that holds the rows. */
  readonly field: string
  read(row: JsonObject): Listed
}

/** The lists of what an account may use. */
export interface AccountLists {
  readonly signatures: AccountList
  readonly templates: AccountList
  /** The parameters that ask for a page, the first is 0; of each part that the lists have. */
  readonly pages: readonly [PageParams, ...PageParams[]]
  /** The codes of a key that may not list them, and so has proved itself as well. */
  readonly mayNotList: RegExp
}

type PageParams = (page: number, size: number) => JsonObject

/** Asks for something about a message. @returns `unreachable` when there was no answer, or a refusal */
export type Ask = (
  action: string,
  params: JsonObject,
) => Promise<{ readonly body: JsonObject } | Extract<LookUp, { is: 'unreachable' }>>

/** A carrier that sends by templates which it approved, and does not sign its delivery reports. */
export interface TemplateCarrier<N extends string, S extends Settings, P extends TemplateCarrierSettings> {
  readonly name: N
  /** Its name for people. */
  readonly title: string
  readonly settings: S
  /** The settings that it cannot do without, each with the reason. */
  readonly needed: Partial<Readonly<Record<keyof S, Words>>>
  /** The settings of its API's URL and of its signature, unless only templates have one; whether those abroad need one, too. */
  readonly urlSetting: keyof S & string
  readonly signature: { readonly setting?: keyof S & string; readonly abroad: boolean }
  /** See ProviderModule. */
  readonly isByRoute?: true
  /** Login, URL and signature by the settings; undefined: SMS does not go by it. */
  account(config: Values<S> & ChannelSettings): Omit<P, keyof HttpApiSettings | 'templates'> | undefined
  /** The signed request for one operation. */
  signRequest(settings: P, action: string, params: JsonObject): HttpRequest
  read(answer: JsonAnswer): Reading

  /** The values of a template are named; else they are in an order. */
  readonly hasNamedParams: boolean
  /** A number as the carrier writes it. */
  numberOf(message: OutgoingSms): string
  /** Why it sends no message like this one, whatever its template; null: it does. Absent: it sends all. */
  misfit?(message: OutgoingSms): Words | null
  /** The operation that sends; SendSms unless given. */
  readonly sendAction?: string
  /** The parameters of that operation. */
  sendParams(settings: P, message: OutgoingSms, parcel: TemplateParcel): JsonObject
  /** @param number as in the request. */
  readSent(body: JsonObject, number: string): SentMessage
  judgeCode(code: string, status: number): Judgement
  /** How long a limit of a number lasts by the words of its refusal, ms. @param now ms since the epoch. */
  windowOf(refusal: SentMessage, now: number): number
  /** See Provider.lookUp; absent: it cannot be asked. */
  lookUp?(ask: Ask, settings: P, message: OutgoingSms, since: number): Promise<LookUp>

  /** What it wants to read when its reports were taken. */
  readonly taken: ReceiptSource['taken']
  /** Reads a delivery report. @returns null when it names no message */
  readReport(report: JsonObject): CarrierReport | null

  /** What it approved; absent: it has no lists, and its key is tried by a request to send that names nobody. */
  readonly lists?: AccountLists
  /** What to look at when the login fails for a reason that the carrier has no advice for. */
  readonly lookAt: Words
  /** What else the operator should know of the account. */
  readonly notes?: readonly CheckResult[]
}

/** Aliyun and Tencent answer within a second as a rule. Their own SDKs wait ten and sixty, which is too long for a code. */
const LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

/** Half of what the carriers allow: the texts of a hundred templates may be longer than an answer that is read. */
const PAGE_SIZE = 50
/** More pages than an account may have of either. */
const MOST_PAGES = 20

/**
 * Makes a carrier with templates: its provider, which sends one recipient a request, and its module, which says what it needs of the
 * settings and has its lines of `check`.
 */
export function defineTemplateCarrier<
  const N extends string,
  S extends Settings,
  P extends TemplateCarrierSettings,
>(carrier: TemplateCarrier<N, S, P>) {
  const { name, title, lists, hasNamedParams, sendAction = 'SendSms', notes = [] } = carrier
  const { setting: signatureSetting, abroad: isSignedAbroad } = carrier.signature
  const called: string = name
  const signatureName: string = signatureSetting ?? 'SMS_TEMPLATES_FILE'
  type Config = Values<S> & ChannelSettings

  /** @param connections requests at the same time at most; one connection each. */
  function createApi(settings: P, connections: number) {
    const api = createHttpApi({ ...settings, baseUrl: settings.apiUrl, connections })
    async function call(action: string, params: JsonObject, signal?: AbortSignal, expiresAt?: number) {
      const request = carrier.signRequest(settings, action, params)
      const result = await api.request(request, signal, expiresAt)
      return 'value' in result ? readJsonAnswer(result.value) : result
    }

    /** Asks for something else than to send. */
    const askFor =
      (redactor: Redactor, signal?: AbortSignal): Ask =>
      async (action, params) => {
        const answer = await call(action, params, signal)
        if ('error' in answer) return { is: 'unreachable', reply: outcomeWithoutAnswer(answer, title).reply }
        const reading = carrier.read(answer)
        if ('body' in reading) return reading
        return { is: 'unreachable', reply: refusalIn(reading, answer, redactor) }
      }
    return { call, askFor, probe: api.probe, close: api.close }
  }

  /** Asks for the signatures and templates of the account. */
  async function listAccount(settings: P, { signatures, templates, pages }: AccountLists) {
    const api = createApi(settings, 2)
    const ask = api.askFor(createRedactor(NO_MESSAGE, [settings.secret]))
    async function listAll({ action, field, read }: AccountList): Promise<List> {
      const items: Listed[] = []
      for (const paramsOf of pages)
        for (let page = 0; page < MOST_PAGES; page += 1) {
          const asked = await ask(action, paramsOf(page, PAGE_SIZE))
          if ('is' in asked) return { cannotKnow: asked.reply }
          const rows = objectsOf(asked.body[field])
          items.push(...rows.map(read))
          if (rows.length < PAGE_SIZE) break
        }
      return { items }
    }
    return Promise.all([listAll(signatures), listAll(templates)]).finally(api.close)
  }

  function createProvider(settings: P): Provider {
    const { lookUp } = carrier
    const { clock, concurrency = 200, secret, apiUrl } = settings
    const api = createApi(settings, concurrency)
    const redactorFor = (message: OutgoingSms, values: readonly string[] = []) =>
      createRedactor({ ...message, to: carrier.numberOf(message) }, [secret, ...values])
    return createSmsProvider({
      name,
      concurrency,
      clock,
      pack: message => packMessage(settings, message),
      namesOf: ({ template, signName }) => ({ template, sender: signName }),
      async send(message, parcel: TemplateParcel, signal) {
        const params = carrier.sendParams(settings, message, parcel)
        const answer = await api.call(sendAction, params, signal, message.expiresAt)
        if ('error' in answer) return outcomeWithoutAnswer(answer, title)
        const redactor = redactorFor(message, Object.values(parcel.params))
        return judgeAnswer(answer, carrier.numberOf(message), redactor, clock.now())
      },
      ...(lookUp && {
        lookUp: (message, since, signal) =>
          lookUp(api.askFor(redactorFor(message), signal), settings, message, since),
      }),
      probe: api.probe,
      /** Lists one signature, which a key may do that works; else a refusal of what the request lacks proves the key. */
      async verify() {
        const answer = await (lists === undefined
          ? api.call(sendAction, {})
          : api.call(lists.signatures.action, lists.pages[0](0, 1)))
        if ('error' in answer) return unverified(diagnoseExchange(answer, apiUrl, carrier.urlSetting))
        const reading = carrier.read(answer)
        if ('body' in reading) return { ok: true, detail: 'the key works' }
        const { code } = reading
        if (lists?.mayNotList.test(code) === true)
          return { ok: true, detail: 'the key works, but may not list signatures and templates' }
        if (lists === undefined && code !== '' && isOfMessage(carrier.judgeCode(code, answer.status)))
          return { ok: true, detail: 'the key works' }
        return { ok: false, detail: refusalIn(reading, answer, createRedactor(NO_MESSAGE, [secret])) }
      },
      async findHindrance(scope, name) {
        if (lists === undefined) return undefined
        const [signatures, templates] = await listAccount(settings, lists)
        const found = findListed(scope === 'sender' ? signatures : templates, name)
        if (found === undefined) return undefined
        return found.approval === 'approved' ? null : hindranceOf(found.approval, found.reason)[0]
      },
      close: api.close,
    })
  }

  /** Puts a message into its template. @returns why it cannot be, in words that tell nothing of what it says */
  function packMessage(settings: P, message: OutgoingSms): TemplateParcel | { readonly why: Words } {
    const misfit = carrier.misfit?.(message) ?? null
    if (misfit !== null) return { why: misfit }
    const use = settings.templates.templateFor(name, message)
    if ('why' in use) return use
    const { template, params } = use
    const isNeeded = isSignedAbroad || message.country === 'CN'
    // Where none is needed, that of the setting is another country's.
    const signName = use.signature ?? (isNeeded ? settings.signName : undefined)
    if (isNeeded && signName === undefined)
      return { why: say('it has no signature: set {setting}', { setting: signatureName }) }
    if (Array.isArray(params) === hasNamedParams && Object.keys(params).length > 0)
      return {
        why: hasNamedParams
          ? say('the parameters of {template} must be named, as its text names them', { template })
          : say('the parameters of template {template} must be a list, in its order', { template }),
      }
    return { template, signName, params }
  }

  /**
   * The outcome of an answer to SendSms.
   *
   * @param redactor knows the values, too: some refusals repeat a request that was signed wrongly.
   * @param now ms since the epoch.
   */
  function judgeAnswer(answer: JsonAnswer, number: string, redactor: Redactor, now: number): Outcome {
    const { status } = answer
    const reading = carrier.read(answer)
    const said = 'body' in reading ? carrier.readSent(reading.body, number) : { ...reading, id: '' }
    if (said.code === '') {
      // Something in front of the carrier failed, or answered in its place.
      if (status === 200 || status >= 500) return unreadableAnswer(status)
      return outcomeOfRefusal(judgeStatus(status), `http-${status}`, quote(`HTTP ${status}`), answer, now)
    }
    const { verdict, scope } = carrier.judgeCode(said.code, status)
    if (verdict === 'ok') return { is: 'sent', reply: 'accepted', providerId: readWord(said.id) }
    const named = redactor.code(said.code) ?? 'unreadable-code'
    const reply = quote(redactor.reply(said.message || named))
    return outcomeOfRefusal({ verdict, scope }, named, reply, answer, now, limited =>
      limited === 'recipient' ? carrier.windowOf(said, now) : msUntilNextTotal(now),
    )
  }

  const accountOf = (config: Config) => (config.SMS_TOKEN === undefined ? undefined : carrier.account(config))
  function settingsOf(config: Config, clock: Clock, used: HttpLimits, templates: TemplateChoice) {
    const account = accountOf(config)
    const given = { ...account, clock, limits: used, templates, proxy: proxyOf(config) }
    return account && (given as unknown as P)
  }

  function findTemplateFault(config: Config, templates: SmsTemplates): SettingFault | null {
    const mapped = templates.mapped(name)
    if (mapped.length === 0)
      return missingSetting(
        'SMS_TEMPLATES_FILE',
        say('it names no template of {name}, which sends nothing else: write the file (docs/sms.md)', {
          name: called,
        }),
      )
    const isSigned = accountOf(config)?.signName !== undefined || templates.signatures(name).length > 0
    if (isSigned || (!isSignedAbroad && mapped.some(({ region }) => region === 'abroad'))) return null
    const remedy =
      signatureSetting === undefined
        ? say('it names no signature of {name}, which sends nothing without one (docs/sms.md)', {
            name: called,
          })
        : say('{name} sends nothing without a signature: set it to an approved one', { name: called })
    return missingSetting(signatureName, remedy)
  }

  const module: ProviderModule<N, 'sms', S, HttpLimits> = {
    name,
    channel: 'sms',
    findTemplateFault,
    settings: carrier.settings,
    ...(carrier.isByRoute && { isByRoute: true }),
    limits: LIMITS,
    findFaults: settings => missingSettings(settings, carrier.needed as Readonly<Record<string, Words>>),
    // It may be asked first what became of an earlier copy.
    longestAttemptMs: (_config, used) => 2 * longestExchangeMs(used),
    async open(config, { clock, limits: used, templates }) {
      const settings = settingsOf(config, clock, used, templates)
      return settings === undefined ? [] : [createProvider(settings)]
    },
    async check(config, provider, templates) {
      const login = await checkLogin(provider, carrier.lookAt)
      const settings = settingsOf(config, { now: Date.now }, LIMITS, templates)
      if (settings === undefined) return [login]
      const unsigned = checkUnsignedReceipts(title, config)
      const fault = findTemplateFault(config, templates)
      if (fault !== null)
        return [login, checksOf(fault.name).fail(fault.problem, fault.remedy ?? 'see docs/sms.md'), unsigned]
      if (login.is !== 'ok') return [login]
      if (lists === undefined) return [login, ...notes, unsigned]
      const ofTemplates = templates.signatures(name)
      const { signName } = settings
      const used = new Set(signName === undefined ? ofTemplates : [signName, ...ofTemplates])
      const signatures = [...used].map(each => ({ signature: each }))
      const [listedSignatures, listedTemplates] = await listAccount(settings, lists)
      return [
        login,
        ...checkEach(name, 'signatures', signatures, listedSignatures),
        ...checkEach(name, 'templates', templates.mapped(name), listedTemplates),
        ...notes,
        unsigned,
      ]
    },
    async openReceipts(config) {
      return (
        accountOf(config) && {
          path: receiptPath(name),
          keys: receiptKeys(name, config),
          format: 'json',
          taken: carrier.taken,
          parseReports: ({ body }) => objectsOf(body).flatMap(each => carrier.readReport(each) ?? []),
        }
      )
    },
  }
  return { module, createProvider }
}

/** Says whether a code is about what a request says, so that its key was taken. */
function isOfMessage({ scope = 'message' }: Judgement): boolean {
  return scope !== 'account' && scope !== 'transport'
}

/** A refusal of anything but a message, in words. */
function refusalIn({ code, message }: Refused, { status }: JsonAnswer, redactor: Redactor): Sentence {
  return quote(redactor.reply([code, message].filter(Boolean).join(': ') || `HTTP ${status}`))
}

const STATE: Readonly<Record<Exclude<Approval, 'approved'>, readonly [what: Words, next: Words]>> = {
  'in-review': ['is under review', 'wait for the review, or ask the carrier'],
  'not-in-force': ['is approved and not in force yet', 'wait until it is filed with the phone networks'],
  refused: ['was refused, or is not filed with the phone networks', 'look at the reason in the console'],
  cancelled: ['was cancelled', 'apply for it again, or use another one'],
}

/** Says why it cannot be used, in the carrier's own words where it gave some, and what to do. */
function hindranceOf(approval: keyof typeof STATE, reason: string | undefined): readonly [Words, Words] {
  const [what, next] = STATE[approval]
  return [withRemedy(what, reason === undefined ? undefined : quote(reason)), next]
}

/** What messages are sent with: a template as it is mapped, or a signature. */
type InUse = MappedTemplate | { readonly signature: string }

/** Compares what is in use with what the carrier approved, a line each. */
function checkEach(
  carrier: string,
  what: 'signatures' | 'templates',
  used: readonly InUse[],
  listed: List,
): readonly CheckResult[] {
  if ('items' in listed) return used.map(each => checkOne(carrier, each, listed))
  const [about, count] = [say(what), used.length]
  return [
    checksOf(carrier).warn(
      say('cannot know whether its {what} are approved: {why}', {
        what: about,
        why: tell(listed.cannotKnow),
      }),
      say("allow the key to list them, or look at the {what} in use ({count}) in the carrier's console", {
        count,
        what: about,
      }),
    ),
  ]
}

function checkOne(carrier: string, used: InUse, listed: List): CheckResult {
  const mapped = 'template' in used ? used : undefined
  const name = 'template' in used ? used.template : used.signature
  const checks = checksOf(`${carrier} ${mapped ? 'template' : 'signature'} ${name}`)
  const found = findListed(listed, name)
  if (found === undefined)
    return mapped
      ? checks.fail(
          say('the account has no such template, and {kind} uses it', { kind: mapped.kind }),
          'apply for it, or correct it',
        )
      : checks.fail('the account has no such signature', 'apply for it, without 【】, or correct its name')
  const { approval, reason, template, codesOnly } = found
  if (approval !== 'approved') return checks.fail(...hindranceOf(approval, reason))
  if (mapped === undefined || template === undefined)
    return checks.ok(codesOnly === true ? 'approved, for verification codes only' : 'approved')
  const { kind, region, params } = mapped
  if (template.region !== 'both' && template.region !== region)
    return checks.fail(
      say('it is for numbers {place}', { place: PLACE[template.region] }),
      say('map {kind} {place} to another one', { kind, place: PLACE[region] }),
    )
  const given = Object.keys(params).map(key => (Array.isArray(params) ? String(Number(key) + 1) : key))
  const { variables } = template
  if (new Set(variables).symmetricDifference(new Set(given)).size > 0)
    return checks.fail(
      say('its text has the variables {variables}, the mapping gives {given}', {
        variables: words(variables),
        given: words(given),
      }),
      say('make them the same for {kind} in SMS_TEMPLATES_FILE', { kind }),
    )
  return checks.ok(say('approved, for {kind} {place}', { kind, place: PLACE[region] }))
}

const PLACE = { mainland: say('on the mainland'), abroad: say('abroad') } as const

function words(names: readonly string[]): string | Sentence {
  return names.length === 0 ? say('none') : names.join(', ')
}

/** Finds a signature or a template: the one that works, where mainland and abroad have one each of the same name. */
function findListed(listed: List, name: string): Listed | undefined {
  const found = 'items' in listed ? listed.items.filter(each => each.name === name) : []
  return found.find(({ approval }) => approval === 'approved') ?? found[0]
}
