import { stringifyExactly } from '../../src/platform/exact-json.ts'
import type { ContractChecker, SchemaName } from './contract/contract.ts'

/** An answer over HTTP. */
export interface ApiAnswer {
  readonly status: number
  readonly body: string
  /** The business code; 200 for a success. */
  readonly code: number
}

/** The business codes that the contract names, with the status that each carries in its first three digits. */
export const CODES = {
  /** Version 1's example. */
  invalid: 4_001_001,
  empty: 4_001_002,
  noToken: 4_011_001,
  forbidden: 4_031_003,
  noInterface: 4_041_001,
  method: 4_051_001,
  timeout: 4_081_001,
  gateway: 5_021_001,
  /** The contract names status 503 for a "parameter parsing error" but lists no code: this one follows its scheme. */
  unparsable: 5_031_001,
  degraded: 5_031_002,
  access: 5_041_001,
} as const

export type Code = keyof typeof CODES

const WORDS: Readonly<Record<Code, string>> = {
  invalid: 'a parameter is invalid',
  empty: 'a parameter must not be empty',
  noToken: 'the Access-Token header is missing',
  forbidden: 'the Access-Token is invalid',
  noInterface: 'interface not found',
  method: 'HTTP method not allowed',
  timeout: 'request timeout',
  gateway: 'gateway error',
  unparsable: 'the parameters cannot be parsed',
  degraded: 'the service is degraded',
  access: 'access timeout',
}

/** Makes answers and checks each against the contract: one that violates it is a fault of this program, and throws. */
export interface ApiAnswers {
  /** Version 2's envelope. `schema`: of `data`. */
  envelope(data: object, schema?: SchemaName): ApiAnswer
  /** The result itself, without an envelope: the logins, and version 1. */
  topLevel(result: object, schema?: SchemaName): ApiAnswer
  /** Version 1: `{error: {code, msg}}`; version 2: the envelope. */
  error(version: 1 | 2, code: Code, detail?: string): ApiAnswer
}

export function createApiAnswers(contract: ContractChecker): ApiAnswers {
  const checkedAnswer = (
    status: number,
    code: number,
    schema: SchemaName | undefined,
    body: object,
  ): ApiAnswer => {
    const violation = schema === undefined ? null : contract.validate('emulator', schema, body)
    if (violation !== null)
      throw new Error(`the emulator's ${violation.body} leaves the contract: ${violation.fault}`)
    return { status, code, body: stringifyExactly(body) }
  }
  return {
    envelope(data, schema) {
      if (schema !== undefined) checkedAnswer(200, 200, schema, data)
      return checkedAnswer(200, 200, 'envelope', { code: 200, status: 200, msg: '', data })
    },
    topLevel: (result, schema) => checkedAnswer(200, 200, schema, result),
    error(version, name, detail) {
      const code = CODES[name]
      const status = Math.floor(code / 10_000)
      const msg = detail === undefined ? WORDS[name] : `${WORDS[name]}: ${detail}`
      return version === 1
        ? checkedAnswer(status, code, 'error of version 1', { error: { code, msg } })
        : checkedAnswer(status, code, 'envelope', { code, status, msg, data: {} })
    },
  }
}
