/** The result of reading a setting's text: its value, or what is wrong with it. The fault never repeats the text. */
export type ParsedSetting<T> = { readonly value: T } | { readonly fault: string }

/** Splits a list at commas and spaces. */
export function splitList(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter(item => item !== '')
}
