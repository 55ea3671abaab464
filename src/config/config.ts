import { createRequire } from 'node:module'
import { Ajv, type ErrorObject, type SchemaValidateFunction } from 'ajv'
import type { ReaderLanguage, Words } from '../language/sentence.ts'
import { say, tell, tellAll } from '../language/sentence.ts'
import { describeFault, type ParsedSetting, type SettingFault } from '../settings/setting.ts'
import { faultsTogether, listAdvice, type Partly } from './rules.ts'
import { allSettings, type SettingName, type SettingValues, settingNames, settingOf } from './settings.ts'
import { mergeSources, type SettingSources } from './sources.ts'

export type { Mailbox } from '../settings/readers.ts'
export { type AdminRole, roleOf, UNNAMED } from '../settings/readers.ts'
export type { Database } from '../settings/urls.ts'
export { isLoopback } from '../settings/urls.ts'
export type { SettingSources } from './sources.ts'

/** Every setting under the name it has in the environment, read into its type; and what should not stay so. */
export type Config = SettingValues & { readonly warnings: readonly SettingFault[] }

/** The settings cannot be used. Its message lists every fault, in an operator's words, without secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly SettingFault[]
  readonly #isFirstStart: boolean

  /** @param isFirstStart no setting has a value. */
  constructor(faults: readonly SettingFault[], isFirstStart = false) {
    super(listFaults(faults, 'en'))
    this.faults = faults
    this.#isFirstStart = isFirstStart
  }

  in(language: ReaderLanguage): string {
    const faults = listFaults(this.faults, language)
    return this.#isFirstStart ? `${faults}\n\n${FIRST_START.in(language)}` : faults
  }
}

const FIRST_START = say(
  'Nothing is set yet, in the environment or in a file .env of this folder. Copy .env.example (in China .env.example.zh-CN) to .env, fill it in, and start again: README.md, “Run it”.',
)

function listFaults(faults: readonly SettingFault[], language: ReaderLanguage): string {
  const title =
    faults.length === 1
      ? say('One setting is missing or wrong:')
      : say('{n} settings are missing or wrong:', { n: faults.length })
  const lines = faults.map(fault => `  ${describeFault(fault).in(language)}`)
  return `${title.in(language)}\n${lines.join('\n')}`
}

/**
 * Reads all settings from environment, dotenv file and secret files (`NAME_FILE`); the environment wins.
 *
 * The certificate's files are needed to make the HTTPS server, so before there is a Fastify instance that
 * @fastify/env could be registered on: the settings are read here, and the plugin is given their values afterwards
 * (see {@link envSchemaOptions}).
 *
 * @param findMore faults of settings that can be read, such as files that cannot.
 * @throws ConfigError with all faults at once.
 */
export function loadConfig(
  sources: SettingSources,
  findMore: (settings: Partly) => readonly SettingFault[] = () => [],
): Config {
  const merged = mergeSources(sources)
  const read = validate(merged.given)
  const wrong = new Set([...merged.faults, ...read.faults].map(({ name }) => String(name)))
  // The rest is looked at together all the same, so that all faults come at once.
  const usable = without(read.values, wrong)
  const ofTexts = [...read.faults, ...faultsTogether(usable, wrong)].map(merged.asGiven)
  const faults = [...merged.faults, ...ofTexts, ...findMore(usable)]
  if (faults.length > 0) {
    const seen = [merged.faults, merged.strayLines, Object.keys(merged.given)]
    throw new ConfigError(
      [...faults, ...merged.strayLines],
      seen.every(({ length }) => length === 0),
    )
  }

  const values = read.values as SettingValues
  const warnings = [...merged.strayLines, ...merged.warnings, ...listAdvice(values)]
  return { ...values, warnings }
}

/** Options for `app.register(fastifyEnv, …)`: decorates `fastify.config` with the values, which were read and found right. */
export function envSchemaOptions(config: Config) {
  const { warnings: _, ...values } = config
  const properties = Object.fromEntries(settingNames.map(name => [name, true]))
  const schema = { type: 'object', properties }
  return { confKey: 'config', schema, data: values, env: false, dotenv: false, ajv } as const
}

/**
 * Reads only some settings, for a tool that needs no service around it: what the others lack is not its business.
 * @throws ConfigError with what is wrong with those.
 */
export function loadSomeSettings(sources: SettingSources, names: readonly SettingName[]): Partly {
  const merged = mergeSources(sources)
  const read = validate(merged.given)
  const ofNamed = ({ name }: SettingFault) => names.includes(name as SettingName)
  const faults = [...merged.faults.filter(ofNamed), ...read.faults.filter(ofNamed).map(merged.asGiven)]
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.fromEntries(names.map(name => [name, read.values[name]]))
}

function without<T extends object>(from: T, names: ReadonlySet<string>): T {
  return Object.fromEntries(Object.entries(from).filter(([name]) => !names.has(name))) as T
}

/** The text of each setting that has one when nothing is given. */
const defaults = Object.fromEntries(
  settingNames.flatMap(name => {
    const { default: text } = settingOf(name) ?? {}
    return text === undefined ? [] : [[name, String(text)]]
  }),
)

/** The JSON schema of the settings' texts, by name. */
export const jsonSchema = {
  type: 'object',
  required: settingNames.filter(name => 'required' in allSettings[name]),
  additionalProperties: { type: 'string', reads: true },
}

/** Puts what a setting's reader made of its text in the place of the text. */
const reads: SchemaValidateFunction = (_keyword, text: string, _schema, place) => {
  const name = place?.parentDataProperty as SettingName
  const reading: ParsedSetting<unknown> = allSettings[name].reader(text)
  if ('fault' in reading) {
    reads.errors = [{ keyword: 'reads', message: String(reading.fault), params: reading }]
    return false
  }
  const values: Record<string, unknown> = place?.parentData ?? {}
  values[name] = reading.value
  return true
}

/** Puts ajv's errors into an operator's words. */
function faultsOf(errors: readonly ErrorObject[]): readonly SettingFault[] {
  return errors.map(({ instancePath, params }) => {
    const { missingProperty: name = instancePath.slice(1), fault } = params as {
      readonly missingProperty?: string
      readonly fault?: Words
    }
    const problem = fault ?? tellAll([say('is missing.'), tell(settingOf(name)?.meaning ?? '')])
    return { name, problem }
  })
}

/**
 * @fastify/env, without most of its start: when env-schema is loaded, which does its work, it compiles a schema of its own
 * options, and for that the schema of all schemas. Our options are right by their type.
 */
const spared: { compile?: unknown } = Ajv.prototype
spared.compile = () => () => true
export const fastifyEnv = createRequire(import.meta.url)(
  '@fastify/env',
) as typeof import('@fastify/env').fastifyEnv
delete spared.compile

/**
 * Made as env-schema makes its own, but without checking the schema itself at each start: a test does that. It knows the keyword by
 * which a setting's text becomes its value.
 */
const ajv = new Ajv({
  allErrors: true,
  addUsedSchema: false,
  validateSchema: false,
  // Faults have words of their own, and the code is run once: neither pays for what it takes to make.
  messages: false,
  code: { optimize: false },
}).addKeyword({
  keyword: 'reads',
  type: 'string',
  schemaType: 'boolean',
  modifying: true,
  errors: true,
  validate: reads,
})

/** @returns the values of all settings but those that have a fault */
function validate(given: Readonly<Record<string, string>>) {
  const data = { ...defaults, ...given }
  ajv.validate(jsonSchema, data)
  const faults = faultsOf(ajv.errors ?? [])
  return { values: without(data as Partly, new Set(faults.map(({ name }) => String(name)))), faults }
}
