import { type Sentence, say, tell, type Words, withRemedy } from '../language/sentence.ts'

/** The JSON schema of one setting. `reads`: its reader turns its text into its value. */
export interface SettingSchema {
  readonly type: 'string' | 'integer'
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly reads?: true
}

interface SettingDescription {
  /** Its effect, in an operator's words. */
  readonly meaning: Words
  /** A value that an operator could write, where it is not the default. Never a secret that works anywhere. */
  readonly example?: string
  /** The value when nothing is given, as an operator would write it. */
  readonly default?: string | number
  /** A default that follows from other settings, as an operator would write it. */
  readonly defaultFrom?: (given: Readonly<Record<string, string>>) => string | undefined
  /** Has to be set whatever else is set. */
  readonly required?: true
  /** What can be written in it, each part with its meaning. */
  readonly parts?: Readonly<Record<string, Words>>
  /** Never shown; may also be given as a file by `NAME_FILE`. */
  readonly secret?: true
  /** The form of a right value, for the fault of a wrong one: "32 hex digits after AC". */
  readonly form?: Words
}

/** One setting. `T` is the type of its value, once read. */
export interface Setting<T> extends SettingDescription {
  readonly schema: SettingSchema
  readonly reader?: (text: string) => ParsedSetting<unknown>
  /** Carries the type of the value; never there at run time. */
  readonly value?: T
}

export type Settings = Readonly<Record<string, Setting<unknown>>>

/** Settings that belong together, in the order of docs/settings.md. */
export interface Group<S extends Settings> {
  readonly title: Words
  readonly about: Words
  readonly settings: S
}

/** The values of a group of settings, each with its own type. */
export type Values<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never
}

/** What has the properties of every type in a union: of every group of settings, say. */
export type Both<U> = (U extends unknown ? (each: U) => void : never) extends (both: infer I) => void
  ? I
  : never

/** What is wrong with one setting, or works but should not stay so; never holds the value of a secret. */
export interface SettingFault {
  readonly name: string | Sentence
  /** The fault, as it goes on behind the name: `is missing`. */
  readonly problem: Words
  /** The next step, as a clause; absent: the setting's entry in docs/settings.md says what is right. */
  readonly remedy?: Words | undefined
}

/** A fault as a sentence, without its stop. */
export function describeFault({ name, problem, remedy }: SettingFault): Sentence {
  return withRemedy(say('{name} {problem}', { name, problem: tell(problem) }), remedy)
}

/** The fault of a setting that has to be set. @param remedy what to do, as a clause. */
export function missingSetting(name: string, remedy: Words): SettingFault {
  return { name, problem: 'is missing', remedy }
}

/** The faults of the settings that have to be set and are not. @param needed what to do, as a clause, by name; false: it is not needed. */
export function missingSettings(
  s: Readonly<Record<string, unknown>>,
  needed: Readonly<Record<string, Words | false>>,
): SettingFault[] {
  return Object.entries(needed).flatMap(([name, remedy]) =>
    remedy === false || s[name] !== undefined ? [] : [missingSetting(name, remedy)],
  )
}

type Given<T, A extends SettingDescription> = A extends { default: unknown } | { required: true }
  ? T
  : T | undefined

export function textSetting<
  A extends SettingDescription & { readonly pattern?: string; readonly minLength?: number },
>(about: A): Setting<Given<string, A>> {
  const { pattern, minLength } = about
  const schema: SettingSchema = {
    type: 'string',
    ...(pattern === undefined ? {} : { pattern }),
    ...(minLength === undefined ? {} : { minLength }),
  }
  return { ...about, schema }
}

/** Describes a setting that is a whole number of a range. */
export function integerSetting<A extends SettingDescription>(
  [minimum, maximum]: readonly [minimum: number, maximum: number],
  about: A,
): Setting<Given<number, A>> {
  return { ...about, schema: { type: 'integer', minimum, maximum } }
}

/** Describes a setting that is one of a few words. */
export function choiceSetting<const C extends string, A extends SettingDescription>(
  choices: readonly C[],
  about: A,
): Setting<Given<C, A>> {
  return { ...about, schema: { type: 'string', enum: choices } }
}

/** Describes a setting whose text a reader turns into its value. */
export function settingWithReader<T, A extends SettingDescription>(
  reader: (text: string) => ParsedSetting<T>,
  about: A,
): Setting<Given<T, A>> {
  return { ...about, reader, schema: { type: 'string', reads: true } }
}

/** The result of reading a setting's text: its value, or what is wrong with it. The fault never repeats the text. */
export type ParsedSetting<T> = { readonly value: T } | { readonly fault: Words }

/** Splits a list at commas and semicolons, also those of Chinese, and spaces. */
export function splitList(text: string): readonly string[] {
  return text.split(/[\s,，、;；]+/).filter(item => item !== '')
}
