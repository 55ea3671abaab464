import { Ajv, type ValidateFunction } from 'ajv'
import { FAULT_SCOPES } from '../../messages/message.ts'
import { parseYaml } from '../../runtime/yaml-text.ts'
import type { ParsedSetting } from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'
import type { HttpLimits } from '../http-client.ts'
import { findFinderFault, type GatewayAnswer, type GatewayReports } from './answers.ts'
import { compileRequest, type GatewayRequest, RequestFault, type WrittenRequest } from './request.ts'

/** An HTTP gateway as the operator wrote it down, checked. */
export type Gateway = ReturnType<typeof compileGateway>

interface WrittenGateway {
  /** `chat`: the robot of a group, which is told of alarms. */
  readonly channel?: 'sms' | 'chat'
  readonly request: WrittenRequest
  /** Where to ask with GET whether the login works, with the headers of the request. */
  readonly check?: string
  readonly answer?: GatewayAnswer
  readonly reports?: GatewayReports
  /** `concurrency`: requests in flight at most, one connection each; `seconds`: the longest wait for an answer. */
  readonly limits?: { readonly concurrency?: number; readonly seconds?: number }
}

const FINDER = {
  anyOf: [
    { type: 'string', minLength: 1 },
    { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } },
  ],
} as const
const POINTER = {
  anyOf: [
    { type: 'string', pattern: '^/' },
    { type: 'array', minItems: 1, items: { type: 'string', pattern: '^/' } },
  ],
} as const
/** Headers that are of a connection, or say where a body ends or goes: those are not the file's to say. */
const OURS = 'host|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer'
const TEMPLATE = { type: 'string', maxLength: 20_000 } as const
const REFUSALS = ['recipient', 'content', 'country', 'ours', 'later', 'ambiguous'] as const
const MEANING = {
  anyOf: [
    { enum: ['ok', ...REFUSALS] },
    {
      type: 'object',
      required: ['is', 'scope'],
      additionalProperties: false,
      properties: { is: { enum: REFUSALS }, scope: { enum: FAULT_SCOPES } },
    },
    {
      type: 'object',
      required: ['limit', 'minutes'],
      additionalProperties: false,
      properties: {
        limit: { enum: ['number', ...FAULT_SCOPES] },
        minutes: { type: 'integer', minimum: 1, maximum: 10_080 },
      },
    },
  ],
} as const
/** Makes the schema of an object that has no other entries than these. */
const only = (properties: object, ...required: readonly string[]) =>
  ({ type: 'object', additionalProperties: false, required, properties }) as const
const REQUEST = {
  ...only(
    {
      url: TEMPLATE,
      method: { enum: ['GET', 'POST', 'PUT'] },
      headers: {
        type: 'object',
        propertyNames: {
          pattern: `^(?!(?i:${OURS})$)[A-Za-z0-9-]+$`,
        },
        additionalProperties: TEMPLATE,
      },
      form: { type: 'object', additionalProperties: TEMPLATE },
      json: TEMPLATE,
      xml: TEMPLATE,
    },
    'url',
  ),
  not: {
    anyOf: [{ required: ['form', 'json'] }, { required: ['form', 'xml'] }, { required: ['json', 'xml'] }],
  },
}
/** The schema of a file of gateways. */
export const GATEWAY_FILE = {
  type: 'object',
  minProperties: 1,
  propertyNames: { pattern: '^[a-z][a-z0-9-]{0,30}$' },
  additionalProperties: only(
    {
      channel: { enum: ['sms', 'chat'] },
      request: REQUEST,
      check: TEMPLATE,
      answer: only({
        id: FINDER,
        code: FINDER,
        words: FINDER,
        codes: { type: 'object', additionalProperties: MEANING },
        otherwise: MEANING,
      }),
      reports: only(
        {
          format: { enum: ['json', 'form', 'query'] },
          field: { type: 'string', minLength: 1 },
          reply: { type: 'string', minLength: 1, maxLength: 1000 },
          list: { type: 'string', pattern: '^/' },
          id: POINTER,
          ref: POINTER,
          state: POINTER,
          states: { type: 'object', additionalProperties: { enum: ['sent', 'delivered', 'undelivered'] } },
          code: POINTER,
          codes: { type: 'object', additionalProperties: MEANING },
        },
        'id',
        'state',
        'states',
      ),
      limits: only({
        concurrency: { type: 'integer', minimum: 1, maximum: 2000 },
        seconds: { type: 'integer', minimum: 1, maximum: 60 },
      }),
    },
    'request',
  ),
} as const

/** Compiled when the first file is read; that it is a schema is proven by a test, not at each start. */
let isFile: ValidateFunction<Readonly<Record<string, WrittenGateway>>> | undefined

/** Reads the gateways of a file in YAML or JSON, by name, and compiles their templates. */
export function parseGateways(text: string): ParsedSetting<readonly Gateway[]> {
  isFile ??= new Ajv({ allErrors: false, strict: false, validateSchema: false }).compile(GATEWAY_FILE)
  const read = parseYaml(text, isFile)
  if ('fault' in read) return { fault: `line ${read.fault.line}: ${read.fault.reason}` }
  const gateways: Gateway[] = []
  for (const [name, written] of Object.entries(read.value)) {
    try {
      gateways.push(compileGateway(name, written))
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error
      const path = [name, ...error.path]
      return { fault: `line ${read.lineAt(path)}: ${path.join('/')} ${error.message}` }
    }
  }
  return { value: gateways }
}

/**
 * Checks a gateway, and compiles its templates.
 * @param name in routes, log, metrics and console
 * @returns `origin` is where its API is: requests go there and nowhere else; `secrets` are the names of those that it needs.
 * @throws RequestFault
 */
function compileGateway(name: string, written: WrittenGateway) {
  const { channel = 'sms', request: given, answer = {}, reports } = written
  const { concurrency = 20, seconds = 10 } = written.limits ?? {}
  const limits: HttpLimits = { connectMs: 5_000, answerMs: seconds * 1000, bodyMs: 5_000 }
  checkFinders(answer)
  const origin = originOf(given.url, ['request', 'url'])
  const request = compileRequest(given, ['request'])
  let check: GatewayRequest | undefined
  if (written.check !== undefined) {
    if (originOf(written.check, ['check']) !== origin)
      throw new RequestFault(['check'], 'must be at the same host as request/url')
    const { headers = {} } = given
    check = compileRequest({ url: written.check, method: 'GET', headers }, ['check'])
  }
  const variables = [...request.variables, ...(check?.variables ?? [])]
  if (channel === 'chat') checkRobot(written, variables)
  const named = variables.filter(each => each.startsWith('secrets.')).map(each => each.slice(8))
  const secrets = [...new Set(named)]
  return { name, channel, origin, request, check, answer, reports, concurrency, limits, secrets }
}

/** A post to a group is about no message, and nobody reports on it. @throws RequestFault */
function checkRobot(written: WrittenGateway, variables: readonly string[]): void {
  for (const part of ['check', 'reports'] as const)
    if (written[part] !== undefined)
      throw new RequestFault([part], 'is of an SMS carrier, and not of a robot')
  for (const name of variables)
    if (!/^(?:text|now|nonce|secrets\..*)$/.test(name))
      throw new RequestFault(['request'], `says ${name}, which a post to a group does not have`)
}

/** Scheme, host and port stand as they are in the file: no value of a message says where it goes. */
function originOf(url: string, path: readonly string[]): string {
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/?#\s{}@]+)(.*)$/s.exec(url) ?? []
  const read = readApiUrl(origin)
  if ('fault' in read) throw new RequestFault(path, read.fault)
  if (!/^(?:[/?]|$)/.test(rest)) throw new RequestFault(path, 'has no host that stands for itself')
  return read.value
}

/** @throws RequestFault */
function checkFinders({ id = [], code = [], words = [] }: GatewayAnswer): void {
  for (const [name, finder] of Object.entries({ id, code, words })) {
    const reason = findFinderFault(finder)
    if (reason !== null) throw new RequestFault(['answer', name], reason)
  }
}
