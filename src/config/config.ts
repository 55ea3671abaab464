import { Ajv, type ErrorObject } from 'ajv'
import type { EnvSchemaOpt } from 'env-schema'
import type { SettingFault } from '../settings/setting.ts'
import { listAdvice } from './advice.ts'
import { envSchema } from './env-schema.ts'
import type { RemovedSetting } from './removed.ts'
import { faultsTogether, type Partly } from './rules.ts'
import { faultsOf, jsonSchema, withReaders } from './schema.ts'
import { type SettingName, type SettingValues, settingNames } from './settings.ts'
import { mergeSources, type SettingSources } from './sources.ts'

export { isLoopback } from '../settings/loopback.ts'
export type { Mailbox } from '../settings/mailbox.ts'
export { UNNAMED } from '../settings/operators.ts'
export type { Database } from '../settings/urls.ts'
export type { SettingSources } from './sources.ts'

/** Every setting under the name it has in the environment, read into its type; and what should not stay so. */
export type Config = SettingValues & {
  readonly warnings: readonly string[]
  /** Settings of earlier versions that are still set. */
  readonly removed: readonly RemovedSetting[]
}

/** The settings cannot be used. Its message lists every fault, in an operator's words, without secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly SettingFault[]

  constructor(faults: readonly SettingFault[]) {
    const count = faults.length === 1 ? 'One setting is' : `${faults.length} settings are`
    const lines = faults.map(fault => `  ${fault.name} ${fault.problem}`)
    super(`${count} missing or wrong:\n${lines.join('\n')}`)
    this.faults = faults
  }
}

/** The text each configuration was read from, for {@link envSchemaOptions}. */
const texts = new WeakMap<Config, Readonly<Record<string, string>>>()

/**
 * Reads all settings from environment, dotenv file and secret files (`NAME_FILE`); the environment wins.
 *
 * The certificate's files are needed to make the HTTPS server, so before there is a Fastify instance that
 * @fastify/env could be registered on: the settings are read here with env-schema, the package that does
 * @fastify/env's work, and the same text is handed to the plugin afterwards (see {@link envSchemaOptions}).
 *
 * @param findMore faults of settings that can be read, such as files that cannot.
 * @throws ConfigError with all faults at once.
 */
export function loadConfig(
  sources: SettingSources,
  findMore: (settings: Partly) => readonly SettingFault[] = () => [],
): Config {
  const merged = mergeSources(sources)
  const first = validate(merged.given, 'complete')
  const wrong = 'values' in first ? [] : first.faults
  const names = new Set([...merged.faults, ...wrong].map(fault => fault.name))
  // A second reading without the wrong ones, so that the rest can be looked at together and all faults come at once.
  const rest = without(merged.given, names)
  const second = wrong.length === 0 ? first : validate(rest, 'partial')
  const usable = 'values' in second ? without(second.values, names) : {}
  const together = 'values' in second ? [...faultsTogether(usable, names), ...findMore(usable)] : []
  const faults = [...merged.faults, ...wrong, ...together]
  if (faults.length > 0 || !('values' in second)) throw new ConfigError([...faults, ...merged.strayLines])

  const values = second.values as SettingValues
  const strays = merged.strayLines.map(({ name, problem }) => `${name} ${problem}`)
  const { removed } = merged
  const config: Config = {
    ...values,
    warnings: [...strays, ...merged.warnings, ...listAdvice(values)],
    removed,
  }
  texts.set(config, merged.given)
  return config
}

/**
 * Options for `app.register(fastifyEnv, …)`: decorates `fastify.config` with the same values that
 * {@link loadConfig} gave, without looking at the environment again.
 */
export function envSchemaOptions(config: Config): EnvSchemaOpt & { readonly confKey: 'config' } {
  const given = texts.get(config)
  if (given === undefined) throw new TypeError('this configuration was not made by loadConfig')
  return { confKey: 'config', ...options(given, 'complete') }
}

/**
 * Reads only some settings, for a tool that needs no service around it: what the others lack is not its business.
 * @throws ConfigError with what is wrong with those.
 */
export function loadSomeSettings<K extends SettingName>(
  sources: SettingSources,
  names: readonly K[],
): Pick<Partly, K> {
  const merged = mergeSources(sources)
  const wanted = new Set<string>(names)
  const given = Object.fromEntries(Object.entries(merged.given).filter(([name]) => wanted.has(name)))
  const read = validate(given, 'partial')
  const faults = [
    ...merged.faults.filter(({ name }) => wanted.has(name)),
    ...('values' in read ? [] : read.faults),
  ]
  if (faults.length > 0 || !('values' in read)) throw new ConfigError(faults)
  return Object.fromEntries(names.map(name => [name, read.values[name]])) as Pick<Partly, K>
}

function without<T extends object>(from: T, names: ReadonlySet<string>): T {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.has(name))) as T
}

const schemas = new Map<string, ReturnType<typeof jsonSchema>>()

/**
 * The schema for what is given, the same one for the same names, so that ajv compiles it once.
 * @param form `partial`: that others are missing is said elsewhere, or is not asked.
 */
function schemaOf(form: 'complete' | 'partial', given: object) {
  const names = settingNames.filter(name => Object.hasOwn(given, name))
  const key = [form, ...names].join(' ')
  const schema = schemas.get(key) ?? jsonSchema(form, names)
  schemas.set(key, schema)
  return schema
}

/** Made as env-schema makes its own, but without checking the schema itself at each start: a test does that. */
const ajv = withReaders(
  new Ajv({
    allErrors: true,
    removeAdditional: true,
    useDefaults: true,
    coerceTypes: true,
    allowUnionTypes: true,
    addUsedSchema: false,
    validateSchema: false,
    // Faults have words of their own, and the code is run once: neither pays for what it takes to make.
    messages: false,
    code: { optimize: false },
  }),
)

function options(given: Readonly<Record<string, string>>, form: 'complete' | 'partial') {
  return { schema: schemaOf(form, given), data: { ...given }, env: false, dotenv: false, ajv }
}

type Validated = { readonly values: Partly } | { readonly faults: readonly SettingFault[] }

function validate(given: Readonly<Record<string, string>>, form: 'complete' | 'partial'): Validated {
  try {
    return { values: envSchema<Partly>(options(given, form)) }
  } catch (error) {
    if (!(error instanceof Error && 'errors' in error)) throw error
    return { faults: faultsOf(error.errors as ErrorObject[]) }
  }
}
