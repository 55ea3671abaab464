import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Test } from 'tap'

const SRC = new URL('../../src/', import.meta.url).href
const EXPORTED = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm
const COPY = '?recorded'
/** What is told whenever it is called, of all that a part can do. */
const ALWAYS = ['start', 'stop', 'close']

type Call = (...given: never[]) => unknown

/** What a part was given, and what that has. */
interface Given {
  (...given: never[]): unknown
  readonly [name: string]: Given
}

export interface RecorderOptions {
  /** In a copy of this folder of src all functions of src that it imports are recorded. */
  readonly folder: string
  /** What is called without end, or for each message. */
  readonly untold?: RegExp
  /** What is called in the place of some. */
  readonly instead?: Readonly<Record<string, Call>>
}

/** Writes down what is called with what: `createX()` stands for what that call made, `ƒ` for a function without a name. */
export function recordCalls(t: Test, { folder, untold = /^$/, instead = {} }: RecorderOptions) {
  const lines: string[] = []
  const labels = new Map<unknown, string>()
  const latest = new Map<string, readonly unknown[]>()
  let isPoking = false
  const room = `${SRC}${folder}/`

  /** Names a value, and what it has. */
  function label(value: unknown, name: string, depth = 1): void {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || labels.has(value))
      return
    labels.set(value, name)
    if (depth > 0)
      for (const [key, each] of Object.entries(value))
        label(each, Array.isArray(value) ? `${name}[${key}]` : `${name}.${key}`, depth - 1)
  }

  function describe(value: unknown, depth = 0): string {
    const name = labels.get(value)
    if (name !== undefined) return name
    if (typeof value === 'string') return JSON.stringify(value)
    if (typeof value === 'function') return 'ƒ'
    if (typeof value !== 'object' || value === null) return String(value)
    if (depth === 4) return '…'
    if (value instanceof Uint8Array) return `octets ${JSON.stringify(String(value))}`
    if (value instanceof Set || value instanceof Map)
      return `${value.constructor.name} ${describe([...value], depth)}`
    if (Array.isArray(value)) return `[${value.map(each => describe(each, depth + 1)).join(', ')}]`
    const shown = Object.entries(value).map(([key, each]) => `${key}: ${describe(each, depth + 1)}`)
    return depth === 0 ? `{\n${shown.map(line => `  ${line}\n`).join('')}}` : `{ ${shown.join(', ')} }`
  }

  const recordCall =
    (name: string, call: Call, isTold: () => boolean) =>
    (...given: unknown[]) => {
      latest.set(name, given)
      if (isTold() && !untold.test(name))
        lines.push(`${name}(${given.map(each => describe(each)).join(', ')})`)
      // What a part does for that is its own affair.
      const wasPoking = isPoking
      isPoking = false
      try {
        return call(...(given as never[]))
      } finally {
        isPoking = wasPoking
      }
    }

  /** Writes down the calls of a function, what each was given, and when what it made is started and ended. */
  function record(name: string, real: unknown): unknown {
    if (typeof real !== 'function' || /^class\b/.test(String(real))) {
      label(real, name)
      return real
    }
    const whilePoking = () => isPoking
    const made = (value: unknown): unknown => {
      if (typeof value === 'function') {
        const told = Object.assign(recordCall(`${name}()`, value as Call, whilePoking), value)
        label(told, `${name}()`, 2)
        return told
      }
      const isPart = typeof value === 'object' && value !== null && !labels.has(value) && !('listen' in value)
      const part = (isPart && !('bindings' in value) ? value : {}) as Record<string, unknown>
      if (name === 'createServiceParts') lines.push(`→ ${describe(value)}`)
      for (const [does, act] of Object.entries(part))
        if (typeof act === 'function' && !labels.has(act) && !Object.isFrozen(part))
          part[does] = recordCall(
            `${name}().${does}`,
            act.bind(part),
            ALWAYS.includes(does) ? () => true : whilePoking,
          )
      label(value, `${name}()`, 2)
      return value
    }
    const recorded = recordCall(
      name,
      (...given) => {
        const value = (instead[name] ?? (real as Call))(...given)
        return value instanceof Promise ? value.then(made) : made(value)
      },
      () => true,
    )
    label(recorded, name, 0)
    return recorded
  }

  Object.assign(globalThis, { record })
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      if (!context.parentURL?.startsWith(room) || !context.parentURL.endsWith(COPY)) return found
      if (!found.url.startsWith(SRC) || found.url.includes('/language/')) return found
      const url = found.url.startsWith(room) ? `${found.url}${COPY}` : found.url
      return { url: `recorded:${url}`, format: 'module', shortCircuit: true }
    },
    load(url, context, next) {
      if (!url.startsWith('recorded:')) return next(url, context)
      const real = url.slice('recorded:'.length)
      const names = [...readFileSync(new URL(real), 'utf8').matchAll(EXPORTED)]
      const exported = names.map(([, name]) => `export const ${name} = record('${name}', real.${name})`)
      return {
        source: [`import * as real from '${real}'`, `export * from '${real}'`, ...exported].join('\n'),
        format: 'module',
        shortCircuit: true,
      }
    },
  })
  t.teardown(() => hooks.deregister())

  return {
    lines,
    label,
    describe,
    /** Loads a file of the folder whose calls are recorded. */
    load: (file: string): Promise<unknown> => import(`${room}${file}${COPY}`),
    /** What a function was given when it was called last. */
    given: (name: string, at = 0) => latest.get(name)?.[at] as Given,
    /** Writes a line down if it comes of a poke. */
    say(line: string): void {
      if (isPoking) lines.push(line)
    },
    /** Calls a function that was given to a part, and writes down what it asks of parts at once, and what it comes to. */
    async poke(name: string, call: Call | undefined, ...given: readonly unknown[]): Promise<void> {
      lines.push(`? ${name}(${given.map(each => describe(each, 1)).join(', ')})`)
      isPoking = true
      let value: unknown
      try {
        value = call?.(...(given as never[]))
      } finally {
        isPoking = false
      }
      lines.push(`= ${describe(await value, 3)}`)
    },
  }
}
