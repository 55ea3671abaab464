import { type CheckResult, checkFailure, checkOk, checkWarning } from '../runtime/check-result.ts'
import type { JsonObject } from '../runtime/json-object.ts'
import {
  missingSetting,
  missingSettings,
  type SettingFault,
  type Settings,
  type Values,
} from '../settings/setting.ts'
import { type HttpApiSettings, type HttpLimits, longestExchangeMs } from './http-client.ts'
import { objectsOf } from './json-answer.ts'
import { type ChannelSettings, checkLogin, type ProviderModule, proxyOf } from './module.ts'
import type { Provider } from './provider.ts'
import {
  type CarrierReport,
  checkUnsignedReceipts,
  type ReceiptSource,
  receiptKeys,
  receiptPath,
} from './receipts.ts'
import type { MappedTemplate, SmsTemplates } from './sms-templates.ts'

/** The state of a signature or template at its carrier. */
export type Approval = 'approved' | 'in-review' | 'not-in-force' | 'refused' | 'cancelled'

export interface ListedSignature {
  readonly name: string
  readonly approval: Approval
  /** It may stand before verification codes only. */
  readonly codesOnly?: boolean
}

export interface ListedTemplate {
  readonly id: string
  readonly approval: Approval
  readonly region: 'mainland' | 'abroad' | 'both'
  /** Names of the variables in its text; numbers from 1 where they are numbered. */
  readonly variables: readonly string[]
}

/** A carrier's list of its templates or signatures; `cannotKnow`: why there is none. */
export type Listed<T> = { readonly items: readonly T[] } | { readonly cannotKnow: string }

/** What every carrier is given that sends by approved templates, beside its login. */
export interface TemplateCarrierSettings extends HttpApiSettings {
  readonly apiUrl: string
  /** The signature of a message whose template and plugin_id have none. */
  readonly signName?: string | undefined
  readonly templates: Pick<SmsTemplates, 'templateFor'>
  /** Requests in flight at most; one connection each. */
  readonly concurrency?: number
  /**
   * The wall clock, ms since the epoch: a signed request counts within some minutes of the carrier's clock, and the
   * service's own does not follow corrections of the machine's.
   */
  readonly wall?: () => number
}

/** The lists of all that an account has. */
type AccountLists = readonly [signatures: Listed<ListedSignature>, templates: Listed<ListedTemplate>]

/** A carrier that sends by templates which it approved, and does not sign its delivery reports. */
export interface TemplateCarrier<N extends string, S extends Settings, P extends TemplateCarrierSettings> {
  readonly name: N
  /** Its name for people. */
  readonly title: string
  readonly settings: S
  readonly limits: HttpLimits
  /** The settings that it cannot do without, each with the reason. */
  readonly needed: Partial<Readonly<Record<keyof S, string>>>
  /** Login, URL and signature by the settings; undefined: SMS does not go by it. */
  account(config: Values<S>): Omit<P, keyof HttpApiSettings | 'templates'> | undefined
  createProvider(settings: P): Provider
  /** What it wants to read when its reports were taken. */
  readonly taken: ReceiptSource['taken']
  /** Reads a delivery report. @returns null when it names no message */
  readReport(report: JsonObject): CarrierReport | null
  /** The setting of its signature, and whether templates abroad need one, too. */
  readonly signature: { readonly setting: keyof S & string; readonly abroad: boolean }
  /** What to look at when the login fails for a reason that the carrier has no advice for. */
  readonly lookAt: string
  /** Asks for the signatures and templates of the account. */
  listAccount(settings: P): Promise<AccountLists>
  /** What else the operator should know of the account. */
  readonly notes?: readonly CheckResult[]
}

/** Makes the module of a carrier with templates: what it needs of the settings, and its lines of `check`. */
export function defineTemplateCarrier<
  const N extends string,
  S extends Settings,
  P extends TemplateCarrierSettings,
>(carrier: TemplateCarrier<N, S, P>): ProviderModule<N, 'sms', S, HttpLimits> {
  const { name, title, limits, notes = [] } = carrier
  type Config = Values<S> & ChannelSettings

  const accountOf = (config: Config) => (config.SMS_TOKEN === undefined ? undefined : carrier.account(config))
  function settingsOf(
    config: Config,
    options: Pick<TemplateCarrierSettings, 'clock' | 'limits' | 'templates'>,
  ): P | undefined {
    const account = accountOf(config)
    return account && ({ ...options, ...account, proxy: proxyOf(config) } as unknown as P)
  }

  function findTemplateFault(config: Config, templates: SmsTemplates): SettingFault | null {
    const mapped = templates.mapped(name)
    if (mapped.length === 0)
      return missingSetting(
        'SMS_TEMPLATES_FILE',
        `it names no template of ${name}, which sends nothing else: write the file (docs/sms.md)`,
      )
    const { setting, abroad } = carrier.signature
    const isSigned = accountOf(config)?.signName !== undefined || templates.signatures(name).length > 0
    if (isSigned || (!abroad && mapped.some(({ region }) => region === 'abroad'))) return null
    return missingSetting(setting, `${name} sends nothing without a signature: set it to an approved one`)
  }

  return {
    name,
    channel: 'sms',
    findTemplateFault,
    settings: carrier.settings,
    limits,
    findFaults: settings => missingSettings(settings, carrier.needed as Readonly<Record<string, string>>),
    // It may be asked first what became of an earlier copy.
    longestAttemptMs: (_config, used) => 2 * longestExchangeMs(used),
    async open(config, options) {
      const settings = settingsOf(config, options)
      return (
        settings && {
          ...carrier.createProvider(settings),
          async findHindrance(scope, name) {
            const [signatures, templates] = await carrier.listAccount(settings)
            const listed: Listed<ListedSignature | ListedTemplate> =
              scope === 'sender' ? signatures : templates
            if (!('items' in listed)) return undefined
            const found = bestOf(listed.items.filter(item => ('id' in item ? item.id : item.name) === name))
            if (found === undefined) return undefined
            return found.approval === 'approved' ? null : STATE[found.approval][0]
          },
        }
      )
    },
    async check(config, provider, templates) {
      const login = await checkLogin(provider, carrier.lookAt)
      const settings = settingsOf(config, { clock: { now: Date.now }, limits, templates })
      if (settings === undefined) return [login]
      const unsigned = checkUnsignedReceipts(title, config)
      const fault = findTemplateFault(config, templates)
      if (fault !== null)
        return [login, checkFailure(fault.name, fault.problem, fault.remedy ?? 'see docs/sms.md'), unsigned]
      if (login.is !== 'ok') return [login]
      const ofTemplates = templates.signatures(name)
      const { signName } = settings
      const signatures = new Set(signName === undefined ? ofTemplates : [signName, ...ofTemplates])
      const [listedSignatures, listedTemplates] = await carrier.listAccount(settings)
      return [
        login,
        ...checkEach(name, 'signatures', [...signatures], listedSignatures, checkSignature),
        ...checkEach(name, 'templates', templates.mapped(name), listedTemplates, checkTemplate),
        ...notes,
        unsigned,
      ]
    },
    clockUrl: config => carrier.account(config)?.apiUrl,
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
}

/** Reads a carrier's list page by page. @param readPage `last`: there is no further page. */
export async function listPages<T>(
  readPage: (
    page: number,
  ) => Promise<{ readonly items: readonly T[]; readonly last: boolean } | { readonly cannotKnow: string }>,
): Promise<Listed<T>> {
  const items: T[] = []
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const read = await readPage(page)
    if ('cannotKnow' in read) return read
    items.push(...read.items)
    if (read.last) break
  }
  return { items }
}

/** More pages than an account may have of either. */
const MOST_PAGES = 20

const STATE: Readonly<Record<Exclude<Approval, 'approved'>, readonly [what: string, next: string]>> = {
  'in-review': ['is under review', 'wait for the review, or ask the carrier'],
  'not-in-force': ['is approved and not in force yet', 'wait until it is filed with the phone networks'],
  refused: ['was refused, or is not filed with the phone networks', 'look at the reason in the console'],
  cancelled: ['was cancelled', 'apply for it again, or use another one'],
}

/** Compares what is in use with what the carrier approved, a line each. */
function checkEach<U, T>(
  carrier: string,
  what: string,
  used: readonly U[],
  listed: Listed<T>,
  check: (carrier: string, used: U, items: readonly T[]) => CheckResult,
): readonly CheckResult[] {
  if ('items' in listed) return used.map(each => check(carrier, each, listed.items))
  const next = `allow the key to list them, or look at the ${used.length} ${what} in use in the carrier's console`
  return [checkWarning(carrier, `cannot know whether its ${what} are approved: ${listed.cannotKnow}`, next)]
}

function checkSignature(carrier: string, name: string, items: readonly ListedSignature[]): CheckResult {
  const about = `${carrier} signature ${name}`
  const found = bestOf(items.filter(item => item.name === name))
  if (found === undefined)
    return checkFailure(
      about,
      'the account has no such signature',
      'apply for it, without 【】, or correct its name',
    )
  if (found.approval !== 'approved') return checkFailure(about, ...STATE[found.approval])
  return checkOk(about, found.codesOnly === true ? 'approved, for verification codes only' : 'approved')
}

function checkTemplate(
  carrier: string,
  { kind, region, template, params }: MappedTemplate,
  items: readonly ListedTemplate[],
): CheckResult {
  const about = `${carrier} template ${template}`
  const found = items.find(({ id }) => id === template)
  if (found === undefined)
    return checkFailure(
      about,
      `the account has no such template, and ${kind} uses it`,
      'apply for it, or correct it',
    )
  if (found.approval !== 'approved') return checkFailure(about, ...STATE[found.approval])
  if (found.region !== 'both' && found.region !== region)
    return checkFailure(
      about,
      `it is for numbers ${PLACE[found.region]}`,
      `map ${kind} ${PLACE[region]} to another one`,
    )
  const given = Object.keys(params).map(key => (Array.isArray(params) ? String(Number(key) + 1) : key))
  const missing = found.variables.filter(name => !given.includes(name))
  const needless = given.filter(name => !found.variables.includes(name))
  if (missing.length + needless.length > 0) {
    const texts = [
      `its text has the variables ${words(found.variables)}`,
      `the mapping gives ${words(given)}`,
    ]
    return checkFailure(about, texts.join(', '), `make them the same for ${kind} in SMS_TEMPLATES_FILE`)
  }
  return checkOk(about, `approved, for ${kind} ${PLACE[region]}`)
}

const PLACE = { mainland: 'on the mainland', abroad: 'abroad' } as const

function words(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}

/** The signature that works, where mainland and abroad have one each of the same name. */
function bestOf<T extends { readonly approval: Approval }>(found: readonly T[]): T | undefined {
  return found.find(({ approval }) => approval === 'approved') ?? found[0]
}
