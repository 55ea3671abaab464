import type { Ajv, ErrorObject, SchemaValidateFunction } from 'ajv'
import type { SettingFault, SettingSchema } from '../settings/setting.ts'
import { type SettingName, settingNames, settingOf, settings } from './settings.ts'

interface ObjectSchema {
  readonly type: 'object'
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, SettingSchema & { readonly default?: string | number }>>
}

/**
 * The JSON schema of all settings, for env-schema and @fastify/env.
 * @param form `partial` requires none of them.
 */
export function jsonSchema(form: 'complete' | 'partial'): ObjectSchema {
  const properties = settingNames.map(name => {
    const { schema, ...about } = settings[name] as (typeof settings)[SettingName] & {
      default?: string | number
    }
    return [name, about.default === undefined ? schema : { ...schema, default: about.default }] as const
  })
  const required = form === 'partial' ? [] : settingNames.filter(name => 'required' in settings[name])
  return { type: 'object', required, properties: Object.fromEntries(properties) }
}

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

/** Teaches an ajv instance the keyword by which a setting's text becomes its value. */
export function withReaders(ajv: Ajv): Ajv {
  return ajv.addKeyword({
    keyword: 'reads',
    type: 'string',
    schemaType: 'boolean',
    modifying: true,
    errors: true,
    validate: reads,
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
