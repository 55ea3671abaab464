import type { ParsedSetting } from './parsed-setting.ts'

const NAME = /^[a-z0-9][a-z0-9._@-]{0,63}$/i
/** A token of the private listener, as a header can carry it. */
export const ADMIN_TOKEN = {
  pattern: '^[\\x21-\\x7e]{16,256}$',
  form: '16 to 256 visible ASCII characters without spaces',
}
/** The log's name for the holder of ADMIN_TOKEN, and for whoever uses a console that asks for no token. */
export const UNNAMED = { token: 'admin', nobody: 'local' } as const

/** `ADMIN_TOKENS`: token by operator's name, from `name:token`, one a line or several with spaces between them. */
export function readOperators(text: string): ParsedSetting<ReadonlyMap<string, string>> {
  const operators = new Map<string, string>()
  for (const entry of text.split(/\s+/).filter(each => each !== '')) {
    const [, name = '', token = ''] = /^([^:]*):(.*)$/.exec(entry) ?? []
    if (!NAME.test(name) || !new RegExp(ADMIN_TOKEN.pattern).test(token))
      return {
        fault: `must be name:token on each line: a name of letters, digits and . _ @ -, and a token of ${ADMIN_TOKEN.form}`,
      }
    if (operators.has(name) || Object.values<string>(UNNAMED).includes(name))
      return { fault: 'must have each name once, and neither admin nor local, which the log uses by itself' }
    operators.set(name, token)
  }
  return { value: operators }
}
