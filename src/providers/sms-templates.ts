import type { Words } from '../language/sentence.ts'
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
