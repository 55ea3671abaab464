import { readFileSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { enough } from '../config/settings.ts'
import { serveHere } from '../rigs/serve-here.ts'
import { startSinks } from '../rigs/service.ts'
import { SECRET } from '../webhooks/receiver.ts'

const SRC = new URL('../../src/', import.meta.url).href
const SERVICE = `${SRC}service/`
const RECORD = fileURLToPath(new URL('../fixtures/wired.txt', import.meta.url))
/** What is called without end, or for each message, or with all settings. */
const UNTOLD = /^(?:monotonic|repeat|find\w+|sample\w+|loadConfig|describeFault|createBackoff|modulesOf)$/
const EXPORTED = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm

/** Everything is on, and nobody is at the other ends. */
const EVERYTHING = {
  ...enough,
  STORE_SECRET: 'a-secret-of-the-tests-long-enough',
  STORE_SECRET_PREVIOUS: 'another-secret-of-the-tests',
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  TLS: 'on',
  PUBLIC_URL: 'https://courier.example.com',
  ALLOWED_SOURCES: '203.0.113.0/24',
  TRUSTED_PROXIES: '198.51.100.1',
  SMTP_FALLBACK_URL: 'smtp://second:secret2@mail2.example.com',
  MAIL_REPLY_TO: 'help@example.com',
  BRAND_URL: 'https://www.example.com',
  LOCALE_BY_COUNTRY: '{"CN": "zh-CN"}',
  SMS_COUNTRIES: 'CN,US',
  SMS_GATEWAYS:
    'crew: { channel: chat, request: { url: "https://robot.example.com/", json: \'{"text": "{{ text }}"}\' } }',
  DDQ_URL: 'http://127.0.0.1:9?auth=/a&subscribe=/s&any-product=x',
  DDQ_AUTH_URL: 'http://127.0.0.1:9/',
  DDQ_APP_ID: 'app-id',
  DDQ_APP_SECRET: 'app-secret',
  ALERTS: 'alert * 0 - ann@example.com',
  EVENTS_SECRET: SECRET,
  EVENTS_URL: 'https://events.example.com/hook',
  BOUNCE_IMAP_URL: 'imap://ann:secret@127.0.0.1:9?ignoreTLS=true',
  ONLY_TO: '@example.com, +8613800138000',
  PROBE_TO: 'ann@example.com, +8613800138000',
  ANSWER_WITHIN_MS: '1500',
  RETENTION_DAYS: '13',
  ERROR_STATUS: '200',
}

/** What was called with what: `createX()` stands for what that call made, `ƒ` for a function without a name. */
const lines: string[] = []
const labels = new Map<unknown, string>()

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
  if (value instanceof Set || value instanceof Map)
    return `${value.constructor.name} ${describe([...value], depth)}`
  if (Array.isArray(value)) return `[${value.map(each => describe(each, depth + 1)).join(', ')}]`
  const shown = Object.entries(value).map(([key, each]) => `${key}: ${describe(each, depth + 1)}`)
  return depth === 0 ? `{\n${shown.map(line => `  ${line}\n`).join('')}}` : `{ ${shown.join(', ')} }`
}

/** Writes down the calls of a function, what each was given, and when what it made is started and ended. */
function record(name: string, real: unknown): unknown {
  if (typeof real !== 'function' || /^class\b/.test(String(real))) {
    label(real, name)
    return real
  }
  const made = <T>(value: T): T => {
    const isPart = typeof value === 'object' && value !== null && !labels.has(value) && !('listen' in value)
    const part = (isPart ? value : {}) as Record<string, unknown>
    if (name === 'createServiceParts') lines.push(`→ ${describe(value)}`)
    label(value, `${name}()`, 2)
    for (const does of ['start', 'stop', 'close']) {
      const act = part[does]
      if (typeof act === 'function') part[does] = recordCall(`${name}().${does}`, act.bind(part))
    }
    return value
  }
  const recorded = recordCall(name, (...given) => {
    const value = real(...given)
    return value instanceof Promise ? value.then(made) : made(value)
  })
  label(recorded, name, 0)
  return recorded
}

const recordCall =
  (name: string, call: (...given: unknown[]) => unknown) =>
  (...given: unknown[]) => {
    if (!UNTOLD.test(name)) lines.push(`${name}(${given.map(each => describe(each)).join(', ')})`)
    return call(...given)
  }

/** In a copy of src/service all functions that it imports are recorded. */
function recordService() {
  Object.assign(globalThis, { record })
  return registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const isOurs = context.parentURL?.startsWith(SERVICE) && context.parentURL.endsWith('?wired')
      if (!isOurs || !found.url.startsWith(SRC) || found.url.includes('/language/')) return found
      const url = found.url.startsWith(SERVICE) ? `${found.url}?wired` : found.url
      return { url: `wired:${url}`, format: 'module', shortCircuit: true }
    },
    load(url, context, next) {
      if (!url.startsWith('wired:')) return next(url, context)
      const real = url.slice('wired:'.length)
      const names = [...readFileSync(new URL(real), 'utf8').matchAll(EXPORTED)]
      const exported = names.map(([, name]) => `export const ${name} = record('${name}', real.${name})`)
      const source = [`import * as real from '${real}'`, ...exported].join('\n')
      return { source, format: 'module', shortCircuit: true }
    },
  })
}

// `WRITE=1 node test/service/wired.test.ts` writes the record anew; its diff is then read as the change of the wiring that it is.
t.test('who is given what, and is started and ended in which order, with everything on', async t => {
  const hooks = recordService()
  t.teardown(() => hooks.deregister())
  const service = (await import(
    `${SERVICE}service.ts?wired`
  )) as typeof import('../../src/service/service.ts')
  const { settings, directory } = await startSinks(t)
  const { TLS_CERT_FILE, TLS_KEY_FILE, DATABASE_URL } = settings
  const options = {
    wall: () => Date.UTC(2026, 10, 20),
    clock: { now: () => 1000 },
    limits: {},
    repeatPausesMs: [7],
    startStoreThread: serveHere,
    log: { write: () => {} },
  }
  for (const [name, value] of Object.entries({ ...options, random: Math.random })) label(value, name)
  const words = t.testdir()
  const running = await service.startService(
    { ...EVERYTHING, TLS_CERT_FILE, TLS_KEY_FILE, DATABASE_URL, TEMPLATES_DIR: words },
    options,
  )
  await running.close()
  const text = lines
    .join('\n')
    .replaceAll(directory, 'DIR')
    .replaceAll(words, 'WORDS')
    .replace(/-----BEGIN ([A-Z ]+)[^"]*/g, '$1')
    .replace(/(?<=createDescriptors\()[^,]+/, 'N')
    .replace(/"[0-9a-f]{32}"/g, 'LEADER')
  if (process.env['WRITE']) writeFileSync(RECORD, `${text}\n`)
  t.equal(`${text}\n`, readFileSync(RECORD, 'utf8'))
})
