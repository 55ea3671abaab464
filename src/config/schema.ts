import type { Ajv, ErrorObject, SchemaValidateFunction } from 'ajv'
import type { SettingFault, SettingSchema } from '../settings/setting.ts'
import { type SettingName, settingNames, settingOf, settings } from './settings.ts'

interface ObjectSchema {
  readonly type: 'object'
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, SettingSchema>>
  readonly defaults: Readonly<Record<string, unknown>>
}

/**
 * The JSON schema of settings, for env-schema and @fastify/env: of those that are given, since compiling it takes a start
 * ten times as long as all that is done with it. The others are what they are by default, which needs no look.
 * @param form `partial` requires none of them.
 */
export function jsonSchema(form: 'complete' | 'partial', given: readonly SettingName[]): ObjectSchema {
  const properties = given.map(name => [name, settings[name].schema])
  const required = form === 'partial' ? [] : settingNames.filter(name => 'required' in settings[name])
  return { type: 'object', required, properties: Object.fromEntries(properties), defaults }
}

/** The value of each setting that has one when nothing is given. */
const defaults = Object.fromEntries(
  settingNames.flatMap(name => {
    const { default: text, reader } = settingOf(name) ?? {}
    if (text === undefined) return []
    const reading = reader?.(String(text)) ?? { value: text }
    if ('fault' in reading) throw new Error(`the default of ${name} ${reading.fault}`)
    return [[name, reading.value]]
  }),
)

/** Puts what a setting's reader made of its text in the place of the text. */
const reads: SchemaValidateFunction = (_keyword, text: string, _schema, place) => {
  const name = String(place?.parentDataProperty)
  const reading = settingOf(name)?.reader?.(text)
  if (reading === undefined) throw new Error(`${name} has no reader`)
  if ('fault' in reading) {
    reads.errors = [{ keyword: 'reads', message: reading.fault, params: {} }]
    return false
  }
  const values: Record<string, unknown> = place?.parentData ?? {}
  values[name] = reading.value
  return true
}

const fillIn: SchemaValidateFunction = (values: object, data: object) => {
  Object.assign(data, { ...values, ...data })
  return true
}

/** Teaches an ajv instance the keywords by which a setting's text becomes its value, and those not given have theirs. */
export function withReaders(ajv: Ajv): Ajv {
  return ajv
    .addKeyword({
      keyword: 'reads',
      type: 'string',
      schemaType: 'boolean',
      modifying: true,
      errors: true,
      validate: reads,
    })
    .addKeyword({
      keyword: 'defaults',
      type: 'object',
      schemaType: 'object',
      modifying: true,
      validate: fillIn,
    })
}

/** Puts ajv's errors into an operator's words, one fault a setting. */
export function faultsOf(errors: readonly ErrorObject[]): readonly SettingFault[] {
  const faults = new Map<string, SettingFault>()
  for (const error of errors) {
    const name =
      error.keyword === 'required' ? String(error.params.missingProperty) : error.instancePath.slice(1)
    if (!faults.has(name)) faults.set(name, { name, problem: problemOf(error, name as SettingName) })
  }
  return [...faults.values()]
}

function problemOf(error: ErrorObject, name: SettingName): string {
  const { schema, ...about } = settings[name]
  const form = 'form' in about ? about.form : `such as ${about.example}`
  switch (error.keyword) {
    case 'required':
      return `is missing. ${about.meaning}`
    case 'reads':
      return error.message ?? `must be ${form}`
    case 'enum':
      return `must be one of ${('enum' in schema ? (schema.enum ?? []) : []).join(', ')}`
    case 'type':
    case 'minimum':
    case 'maximum':
      return `must be a whole number from ${schema.minimum} to ${schema.maximum}`
    default:
      return `must be ${form}`
  }
}
