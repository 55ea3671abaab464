import { Ajv, type ValidateFunction } from 'ajv'
import { stringifyExactly } from '../../../src/platform/exact-json.ts'
import { callbackSchemas } from './callback-schemas.ts'
import { ddqSchemas } from './ddq-schemas.ts'
import { platformSchemas } from './platform-schemas.ts'

const schemas = { ...platformSchemas, ...callbackSchemas, ...ddqSchemas }
export type Body = keyof typeof schemas

/** Something that left the contract. */
export interface Finding {
  /** ms since the epoch. */
  readonly at: number
  /** Who wrote it: `client` is whoever is being tried out, `emulator` would be a fault of this program. */
  readonly by: 'client' | 'emulator'
  readonly body: Body
  /** Where and what, without the value: `/expire_in must be integer`. */
  readonly fault: string
  /** The keyword of JSON Schema that it broke. */
  readonly keyword: string
}

export interface Contract {
  /** What is wrong with a body, null when nothing is. What is wrong is kept as a finding. */
  judge(by: Finding['by'], body: Body, value: unknown): Finding | null
  /** Newest last, at most 200. */
  findings(): readonly Finding[]
  clear(): void
}

/** @param now ms since the epoch. @param found called for every finding. */
export function createContract(now: () => number, found: (finding: Finding) => void = () => {}): Contract {
  const ajv = new Ajv({ allowUnionTypes: true, strictRequired: false })
  const compiled = new Map<Body, ValidateFunction>()
  let findings: readonly Finding[] = []

  function validator(body: Body): ValidateFunction {
    const known = compiled.get(body)
    if (known !== undefined) return known
    const made = ajv.compile(schemas[body])
    compiled.set(body, made)
    return made
  }

  return {
    judge(by, body, value) {
      const validate = validator(body)
      // As it is on the wire: a whole number beyond 2^53 is an integer there, whatever holds it here.
      if (validate(JSON.parse(stringifyExactly(value)) as unknown)) return null
      const [error] = validate.errors ?? []
      const finding: Finding = {
        at: now(),
        by,
        body,
        fault: `${error?.instancePath ?? ''} ${error?.message ?? 'is not as the contract has it'}`.trim(),
        keyword: error?.keyword ?? '',
      }
      findings = [...findings, finding].slice(-200)
      found(finding)
      return finding
    },
    findings: () => findings,
    clear() {
      findings = []
    },
  }
}
