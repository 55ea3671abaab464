import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { stringifyExactly } from '../../../src/platform/exact-json.ts'
import { callbackSchemas } from './callback-schemas.ts'
import { ddqSchemas } from './ddq-schemas.ts'
import { platformSchemas } from './platform-schemas.ts'

const schemas = { ...platformSchemas, ...callbackSchemas, ...ddqSchemas }
export type SchemaName = keyof typeof schemas

/** A body that is not as the contract has it. */
export interface Violation {
  /** ms since the epoch. */
  readonly at: number
  /** The author of the violation: `client` is the program that is tested, `emulator` this one, which then has a bug. */
  readonly by: 'client' | 'emulator'
  readonly body: SchemaName
  /** Where and what, without the value: `/expire_in must be integer`. */
  readonly fault: string
  /** The keyword of JSON Schema that it broke. */
  readonly keyword: string
}

export interface ContractChecker {
  /** Checks a body and remembers its violation. @returns null when there is none. */
  validate(by: Violation['by'], body: SchemaName, value: unknown): Violation | null
  /** Newest last, at most 200. */
  violations(): readonly Violation[]
  clear(): void
}

/** The fault where exactly one of several properties must be there; null: something else is wrong first. */
function oneOfFault(body: SchemaName, errors: readonly ErrorObject[]): string | null {
  const schema = schemas[body]
  const [first] = errors
  if (!('oneOf' in schema) || first === undefined) return null
  const names = schema.oneOf.map(({ required }) => `'${required.join()}'`).join(', ')
  if (first.keyword === 'oneOf') return `must have only one of the properties ${names}`
  return first.schemaPath.includes('/oneOf/') ? `must have one of the properties ${names}` : null
}

/** @param now ms since the epoch. @param onViolation called for each. */
export function createContractChecker(
  now: () => number,
  onViolation: (violation: Violation) => void = () => {},
): ContractChecker {
  const ajv = new Ajv({ allowUnionTypes: true, strictRequired: false })
  const compiled = new Map<SchemaName, ValidateFunction>()
  let violations: readonly Violation[] = []

  function validator(body: SchemaName): ValidateFunction {
    const known = compiled.get(body)
    if (known !== undefined) return known
    const made = ajv.compile(schemas[body])
    compiled.set(body, made)
    return made
  }

  return {
    validate(by, body, value) {
      const validate = validator(body)
      // The body is checked as it is on the wire, where a bigint beyond 2^53 is an integer like any other.
      if (validate(JSON.parse(stringifyExactly(value)) as unknown)) return null
      const [error] = validate.errors ?? []
      const violation: Violation = {
        at: now(),
        by,
        body,
        fault:
          oneOfFault(body, validate.errors ?? []) ??
          `${error?.instancePath ?? ''} ${error?.message ?? 'is not as the contract has it'}`.trim(),
        keyword: error?.keyword ?? '',
      }
      violations = [...violations, violation].slice(-200)
      onViolation(violation)
      return violation
    },
    violations: () => violations,
    clear() {
      violations = []
    },
  }
}
