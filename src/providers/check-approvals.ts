import { type CheckResult, checkFailure, checkOk, checkWarning } from '../runtime/check-result.ts'
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

/** The templates and signatures that the settings would use. */
export interface InUse {
  readonly carrier: string
  readonly templates: readonly MappedTemplate[]
  readonly signatures: readonly string[]
}

/** @param signature of the settings, for what has none of its own. */
export function templatesInUse(
  carrier: string,
  templates: Pick<SmsTemplates, 'mapped' | 'signatures'>,
  signature: string | undefined,
): InUse {
  const signatures = templates.signatures(carrier)
  return {
    carrier,
    templates: templates.mapped(carrier),
    signatures: signature === undefined ? signatures : [signature, ...signatures],
  }
}

const STATE: Readonly<Record<Exclude<Approval, 'approved'>, readonly [what: string, next: string]>> = {
  'in-review': ['is under review', 'wait for the review, or ask the carrier'],
  'not-in-force': ['is approved and not in force yet', 'wait until it is filed with the phone networks'],
  refused: ['was refused, or is not filed with the phone networks', 'look at the reason in the console'],
  cancelled: ['was cancelled', 'apply for it again, or use another one'],
}

/** Compares the templates and signatures in use with what the carrier approved, a line each. */
export function checkApprovals(
  { carrier, templates, signatures }: InUse,
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
    ...checkEach(carrier, 'signatures', [...new Set(signatures)], listedSignatures, checkSignature),
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
