import { Resolver } from 'node:dns/promises'

/** Finds the texts of a DNS name's TXT records; rejects as node:dns does. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>

/** The records under a name; `unknown`: the DNS could not be asked. */
export type TxtAnswer =
  | { readonly is: 'found'; readonly records: readonly string[] }
  | { readonly is: 'none' }
  | { readonly is: 'unknown'; readonly why: string }

/**
 * Asks name servers and gives up soon.
 * @param withinMs for one question.
 * @param resolver the system's name servers, unless given.
 */
export function createResolveTxt(
  withinMs = 3000,
  resolver = new Resolver({ timeout: 1500, tries: 1 }),
): ResolveTxt {
  return async name => {
    const timer = setTimeout(() => resolver.cancel(), withinMs)
    try {
      return await resolver.resolveTxt(name)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The TXT records of a name, each put together from its pieces. */
export async function readTxt(resolveTxt: ResolveTxt, name: string): Promise<TxtAnswer> {
  try {
    const records = (await resolveTxt(name)).map(pieces => pieces.join(''))
    return records.length === 0 ? { is: 'none' } : { is: 'found', records }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
    return code === 'ENOTFOUND' || code === 'ENODATA' ? { is: 'none' } : { is: 'unknown', why: code }
  }
}
