import { say, tell, type Words } from '../language/sentence.ts'
import type { OutgoingSms } from '../messages/message.ts'

/** The template that a carrier sends instead of a text. */
export interface TemplateUse {
  /** The carrier's name or number of the template. */
  readonly template: string
  /** The signature to send it with, of the plugin_id or the template; absent: the carrier's own setting. */
  readonly signature?: string
  /** The values of the template's parameters: by name, or in their order, as the operator mapped them. */
  readonly params: Readonly<Record<string, string>> | readonly string[]
}

/** A template as the operator mapped it: `params` names parameters of ours. */
export interface MappedTemplate extends TemplateUse {
  readonly kind: string
  readonly region: 'mainland' | 'abroad'
  /** Only for this language, BCP 47. */
  readonly locale?: string
}

export interface TemplateChoice {
  /**
   * The template and values that a carrier sends for a message. Pure.
   * @param carrier the provider's name.
   * @returns `why` there is nothing, in words that tell nothing of what the message says.
   */
  templateFor(carrier: string, message: OutgoingSms): TemplateUse | { readonly why: Words }
}

/** The operator's mapping of kinds to the approved templates of carriers. */
export interface SmsTemplates extends TemplateChoice {
  /** All templates of a carrier that may be sent, for `check`; signatures of plugins are in `signatures`. */
  mapped(carrier: string): readonly MappedTemplate[]
  /** Signatures of the carrier that PLUGIN_SENDERS and the templates name, each once. */
  signatures(carrier: string): readonly string[]
}

/** Without SMS_TEMPLATES_FILE. */
export const NO_TEMPLATES: SmsTemplates = {
  templateFor: () => ({ why: 'SMS_TEMPLATES_FILE names no templates' }),
  mapped: () => [],
  signatures: () => [],
}

/** What a carrier accepts as the values of a template. */
export interface ValueRules {
  /** Characters of a value at most. */
  readonly longest: number
  /** The pattern of a code, and the same in words. */
  readonly code: RegExp
  readonly codeForm: Words
  /** A template that says a code takes nothing but such values. */
  readonly likeCode?: boolean
}

const LINK =
  /:\/\/|\bwww\.|\b\d{1,3}(?:\.\d{1,3}){3}\b|[a-z0-9-]\.(?:com|cn|net|org|io|info|top|xyz|cc|me|co|vip|app|dev|tech|site|shop|online|edu|gov|hk|tw)(?![a-z0-9])/i

/**
 * Says why a template would be refused with these values; null: nothing speaks against it. Carriers refuse such a message
 * for good, so it is better not handed to them at all.
 *
 * @param values in the template's order or by name.
 * @param code of the message, if it has one: whatever is equal to it stands where the template wants a code.
 * @returns words that tell nothing of the values.
 */
export function findValueFault(
  values: readonly string[] | Readonly<Record<string, string>>,
  code: string | undefined,
  rules: ValueRules,
): Words | null {
  const saysCode = Object.values(values).some(value => value === code)
  for (const [key, value] of Object.entries(values)) {
    const name = say('parameter {name}', { name: Array.isArray(values) ? Number(key) + 1 : key })
    if (value === '') return say('{name} of the template is empty', { name })
    const mustBeCode = value === code || (saysCode && rules.likeCode === true)
    if (mustBeCode && !rules.code.test(value))
      return say('{name} of the template takes {form}', { name, form: tell(rules.codeForm) })
    if (value.length > rules.longest)
      return say('{name} of the template takes {longest} characters at most', {
        name,
        longest: rules.longest,
      })
    if (LINK.test(value))
      return say('{name} of the template may not hold a link, a domain or an IP address', { name })
  }
  return null
}
