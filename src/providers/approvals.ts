import { type CheckResult, checkFailure, checkOk, checkWarning } from '../runtime/check-result.ts'
import { type ChannelSettings, checkLogin } from './module.ts'
import type { Provider } from './provider.ts'
import { checkUnsignedReceipts } from './receipts.ts'
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

/** A carrier with templates, as its check asks it. */
export interface TemplateAccount {
  readonly provider: Provider
  /** The carrier's name for people. */
  readonly title: string
  /** What to look at when the login fails for a reason that the carrier has no advice for. */
  readonly next: string
  /** The signature of the settings, for what has none of its own. */
  readonly signature: string | undefined
  /** Asks for all that the account has; it is not called when the login fails. */
  list(): Promise<readonly [signatures: Listed<ListedSignature>, templates: Listed<ListedTemplate>]>
  /** What else the operator should know of the account. */
  readonly notes?: readonly CheckResult[]
}

/** The lines of `check` of a carrier with templates: its login, what it approved of that is in use, and its reports. */
export async function checkTemplateAccount(
  { provider, title, next, signature, list, notes = [] }: TemplateAccount,
  config: Pick<ChannelSettings, 'PUBLIC_URL'>,
  templates: SmsTemplates,
): Promise<readonly CheckResult[]> {
  const login = await checkLogin(provider, next)
  if (login.is !== 'ok') return [login]
  const { name } = provider
  const ofTemplates = templates.signatures(name)
  const signatures = new Set(signature === undefined ? ofTemplates : [signature, ...ofTemplates])
  const approvals = checkApprovals(name, [...signatures], templates.mapped(name), ...(await list()))
  return [login, ...approvals, ...notes, checkUnsignedReceipts(title, config)]
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

/** Compares the templates and signatures in use with what the carrier approved, a line each. */
function checkApprovals(
  carrier: string,
  signatures: readonly string[],
  templates: readonly MappedTemplate[],
  listedSignatures: Listed<ListedSignature>,
  listedTemplates: Listed<ListedTemplate>,
): readonly CheckResult[] {
  if (templates.length === 0)
    return [
      checkWarning(
        carrier,
        'no template is mapped: nothing can be sent by it',
        'write SMS_TEMPLATES_FILE (docs/sms.md)',
      ),
    ]
  return [
    ...checkEach(carrier, 'signatures', signatures, listedSignatures, checkSignature),
    ...checkEach(carrier, 'templates', templates, listedTemplates, checkTemplate),
  ]
}

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
function bestOf(found: readonly ListedSignature[]): ListedSignature | undefined {
  return found.find(({ approval }) => approval === 'approved') ?? found[0]
}
