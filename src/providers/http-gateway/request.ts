import { createHash, createHmac, randomBytes } from 'node:crypto'
import { ToldError, type Words } from '../../language/sentence.ts'
import type { Compiled, Engine, Scope } from '../../words/template-engine.ts'
import { createEngine, templateFaultOf } from '../../words/template-engine.ts'
import type { HttpRequest } from '../http-client.ts'

/** A request as it stands in the file: one of the three bodies, or none. */
export interface WrittenRequest {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly json?: string
  readonly xml?: string
}

export interface GatewayRequest {
  /** @throws LiquidError when the scope has not what it needs; RequestFault when a value does not fit where it stands. */
  (scope: Scope): HttpRequest
  /** The names that it uses, `params.code` as such. */
  readonly variables: readonly string[]
}

/** A fault of a part of a gateway, at its path below the gateway's name. */
export class RequestFault extends ToldError {
  override readonly name = 'RequestFault'
  readonly path: readonly string[]
  constructor(path: readonly string[], words: Words, options?: ErrorOptions) {
    super(words, options)
    this.path = path
  }
}

/** The variables that the templates of a gateway may name. */
const VARIABLES: ReadonlySet<string> = new Set(
  'id,to,number,country,kind,locale,sender,text,unicode,seconds,minutes,now,nonce,report_url,params,template,secrets'.split(
    ',',
  ),
)

/** Everything that a template prints goes through one of these, so that a value is never read as a part of the body. */
const ESCAPES = {
  url: (text: string) => encodeURIComponent(text),
  json: (text: string) => JSON.stringify(text).slice(1, -1),
  // XML 1.0 has no place for other control characters.
  xml: (text: string) =>
    text
      .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
      .replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`),
} as const
const TYPES = {
  form: 'application/x-www-form-urlencoded',
  json: 'application/json',
  xml: 'application/xml',
} as const

/** Values are text, numbers and switches; a list or an object is none that a template could print. */
function printed(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Digests that gateways sign with, in hex, beside Liquid's own sha256 and hmac_sha256. */
const FILTERS = {
  md5: (value: unknown) => createHash('md5').update(printed(value)).digest('hex'),
  sha1: (value: unknown) => createHash('sha1').update(printed(value)).digest('hex'),
  hmac_sha1: (value: unknown, key: unknown) =>
    createHmac('sha1', printed(key)).update(printed(value)).digest('hex'),
  /** A digest in the form that many signatures have. */
  hex_to_base64: (value: unknown) => Buffer.from(printed(value), 'hex').toString('base64'),
}

const engines = new Map<string, Engine>()

/** Compiles a template. @throws RequestFault */
function compile(source: string, escape: keyof typeof ESCAPES | 'none', path: readonly string[]): Compiled {
  const engine =
    engines.get(escape) ??
    createEngine(
      escape === 'none' ? escape : value => ESCAPES[escape](printed(value).toWellFormed()),
      {},
      FILTERS,
    )
  engines.set(escape, engine)
  try {
    return engine.compile(source, VARIABLES)
  } catch (error) {
    throw new RequestFault(path, templateFaultOf(error).words, { cause: error })
  }
}

/** Compiles a request's templates. @param path where it stands, for faults. @throws RequestFault */
export function compileRequest(written: WrittenRequest, path: readonly string[]): GatewayRequest {
  checkSteps(written.url, path)
  const place = compile(written.url.replace(/^https?:\/\/[^/?#]+/, ''), 'url', [...path, 'url'])
  const headers = Object.entries(written.headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), compile(value, 'none', [...path, 'headers', name])] as const,
  )
  const body = compileBody(written, path)
  const { method = 'POST' } = written
  if (method === 'GET' && body !== null)
    throw new RequestFault(path, 'GET has no body: write it into the url')
  const render = (scope: Scope): HttpRequest => ({
    method,
    path: pathOf(place(scope), path),
    headers: {
      ...(body !== null && { 'content-type': body.type }),
      // Nothing else can be carried by a header.
      ...Object.fromEntries(
        headers.map(([name, value]) => [name, value(scope).replace(/[^\x20-\x7e]/g, '')]),
      ),
    },
    body: body === null ? null : body.render(scope),
  })
  const compiled = [place, ...headers.map(([, value]) => value), ...(body?.parts ?? [])]
  return Object.assign(render, { variables: [...new Set(compiled.flatMap(({ variables }) => variables))] })
}

/** Says whether a request says this value, or a part of it. */
export function usesVariable({ variables }: GatewayRequest, name: string): boolean {
  return variables.some(each => each === name || each.startsWith(`${name}.`))
}

/** Makes the values that no message has. Those that take time to make are made for a request that says them. */
export function fixedScope(secrets: ReadonlyMap<string, string>, request: GatewayRequest): Scope {
  return {
    secrets: Object.fromEntries(secrets),
    // By the machine's clock, which a signature is checked against, to the second: 2026-11-22T21:00:00Z.
    ...(usesVariable(request, 'now') && { now: new Date().toISOString().replace(/\.\d+/, '') }),
    ...(usesVariable(request, 'nonce') && { nonce: randomBytes(16).toString('hex') }),
  }
}

/** Path and query as they are sent, from the first slash. @throws RequestFault */
function pathOf(filled: string, at: readonly string[]): string {
  const path = `/${filled}`.replace(/^\/+/, '/').toWellFormed()
  checkSteps(path, at)
  return path.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
}

/** Whoever reads a path takes `..` for a step up, also where a value came to stand, and no escaping hides it. @throws RequestFault */
function checkSteps(url: string, at: readonly string[]): void {
  if (/^[^?#]*\/\.\.?(?:[/?#]|$)/.test(url))
    throw new RequestFault([...at, 'url'], 'has . or .. for a part of its path')
}

interface RequestBody {
  readonly type: string
  readonly parts: readonly Compiled[]
  render(scope: Scope): string
}

/** The body by the type that it is declared to be; null: there is none. */
function compileBody({ form, json, xml }: WrittenRequest, path: readonly string[]): RequestBody | null {
  if (form !== undefined) {
    const fields = Object.entries(form).map(
      ([name, value]) => [name, compile(value, 'none', [...path, 'form', name])] as const,
    )
    return {
      type: TYPES.form,
      parts: fields.map(([, value]) => value),
      // A field without a value is left out.
      render: scope =>
        new URLSearchParams(
          fields
            .map(([name, value]): [string, string] => [name, value(scope)])
            .filter(([, value]) => value !== ''),
        ).toString(),
    }
  }
  const type = json === undefined ? 'xml' : 'json'
  const source = json ?? xml
  if (source === undefined) return null
  const render = compile(source, type, [...path, type])
  if (type === 'json') checkJson(render, [...path, type])
  return { type: TYPES[type], parts: [render], render }
}

/** A value in a place where JSON has no text would break it, or be read as something else. @throws RequestFault */
function checkJson(render: Compiled, path: readonly string[]): void {
  const nasty = '"\\,\n}'
  const names = render.variables.filter(name => name.includes('.')).map(name => name.split('.', 2))
  const fields = (of: string) =>
    Object.fromEntries(names.flatMap(([first, name]) => (first === of ? [[name, nasty]] : [])))
  const scope = Object.fromEntries([...VARIABLES].map(name => [name, nasty]))
  const plain = { number: '8613800138000', seconds: 60, minutes: 1, unicode: false }
  const groups = { params: fields('params'), secrets: fields('secrets'), template: fields('template') }
  let body: string
  try {
    body = render({ ...scope, ...plain, ...groups })
  } catch {
    // It asks for more than its names tell, such as the parts of a template's parameters.
    return
  }
  try {
    JSON.parse(body)
  } catch (error) {
    throw new RequestFault(path, 'is no JSON once it is filled: write "{{ text }}" for a text', {
      cause: error,
    })
  }
}
