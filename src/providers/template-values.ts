export interface ValueRules {
  /** Characters of a value at most. */
  readonly longest: number
  /** The pattern of a code, and the same in words. */
  readonly code: RegExp
  readonly codeForm: string
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
): string | null {
  const saysCode = Object.values(values).some(value => value === code)
  for (const [key, value] of Object.entries(values)) {
    const name = Array.isArray(values) ? `parameter ${Number(key) + 1}` : `parameter ${key}`
    if (value === '') return `${name} of the template is empty`
    const mustBeCode = value === code || (saysCode && rules.likeCode === true)
    if (mustBeCode && !rules.code.test(value)) return `${name} of the template takes ${rules.codeForm}`
    if (value.length > rules.longest)
      return `${name} of the template takes ${rules.longest} characters at most`
    if (LINK.test(value)) return `${name} of the template may not hold a link, a domain or an IP address`
  }
  return null
}
