import { createRequire } from 'node:module'

let loaded: typeof import('./zh-CN.ts') | undefined

/** The Chinese of every sentence, loaded for the first reader of it: a service whose operators read English never does. */
export function loadZhCN(): typeof import('./zh-CN.ts') {
  loaded ??= createRequire(import.meta.url)('./zh-CN.ts') as typeof import('./zh-CN.ts')
  return loaded
}
