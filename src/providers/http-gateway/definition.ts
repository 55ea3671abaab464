import { Ajv, type ValidateFunction } from 'ajv'
import { say, wordsOf } from '../../language/sentence.ts'
import { parseYaml, tellYamlFault } from '../../runtime/yaml-text.ts'
import type { ParsedSetting } from '../../settings/setting.ts'
import { readApiUrl } from '../../settings/urls.ts'
import type { HttpLimits } from '../http-client.ts'
import { findFinderFault, type GatewayAnswer, type GatewayReports } from './answers.ts'
import schema from './gateways.schema.json' with { type: 'json' }
import { compileRequest, type GatewayRequest, RequestFault, type WrittenRequest } from './request.ts'

/** An HTTP gateway as the operator wrote it down, checked. */
export interface Gateway {
  /** The name in routes, log, metrics and console. */
  readonly name: string
  readonly channel: 'sms' | 'chat'
  /** Where its API is: requests go there and nowhere else. */
  readonly origin: string
  readonly request: GatewayRequest
  readonly check: GatewayRequest | undefined
  readonly answer: GatewayAnswer
  readonly reports: GatewayReports | undefined
  readonly concurrency: number
  readonly limits: HttpLimits
  /** The names of those that it needs. */
  readonly secrets: readonly string[]
}

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

/** Compiled when the first file is read; that it is a schema is proven by a test, not at each start. */
let isFile: ValidateFunction<Readonly<Record<string, WrittenGateway>>> | undefined

/** Reads the gateways of a file in YAML or JSON, by name, and compiles their templates. */
export function parseGateways(text: string): ParsedSetting<readonly Gateway[]> {
  isFile ??= new Ajv({ allErrors: false, strict: false, validateSchema: false }).compile(schema)
  const read = parseYaml(text, isFile)
  if ('fault' in read) return { fault: tellYamlFault(read.fault) }
  const gateways: Gateway[] = []
  for (const [name, written] of Object.entries(read.value)) {
    try {
      gateways.push(compileGateway(name, written))
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error
      const path = [name, ...error.path]
      const reason = say('{path} {problem}', { path: path.join('/'), problem: wordsOf(error) })
      return { fault: tellYamlFault({ line: read.lineAt(path), reason }) }
    }
  }
  return { value: gateways }
}

/** Checks a gateway, and compiles its templates. @throws RequestFault */
function compileGateway(name: string, written: WrittenGateway): Gateway {
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
      throw new RequestFault(['request'], say('says {name}, which a post to a group does not have', { name }))
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
