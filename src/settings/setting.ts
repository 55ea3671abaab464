import { type Sentence, say, tell, type Words, withRemedy } from '../language/sentence.ts'

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
  /** Turns its text into its value. */
  readonly reader: (text: string) => ParsedSetting<T>
  /** The words that it can be. */
  readonly choices?: readonly string[]
  /** The whole numbers that it can be. */
  readonly range?: readonly [minimum: number, maximum: number]
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

/** Describes a setting that is read as it stands. @param about `pattern`: what the whole of it has to match */
export function textSetting<A extends SettingDescription & { readonly pattern?: RegExp }>({
  pattern,
  ...about
}: A): Setting<Given<string, A>> {
  const { form, example = '' } = about
  const whole = pattern && new RegExp(`^(?:${pattern.source})$`, pattern.flags)
  const fault = say('must be {form}', {
    form: form === undefined ? say('such as {example}', { example }) : tell(form),
  })
  return { ...about, reader: text => (whole?.test(text) === false ? { fault } : { value: text }) }
}

/** Describes a setting that is a whole number of a range. */
export function integerSetting<A extends SettingDescription>(
  range: readonly [minimum: number, maximum: number],
  about: A,
): Setting<Given<number, A>> {
  const [minimum, maximum] = range
  const fault = say('must be a whole number from {minimum} to {maximum}', { minimum, maximum })
  const reader = (text: string) => {
    const value = Number(text)
    return Number.isInteger(value) && value >= minimum && value <= maximum ? { value } : { fault }
  }
  return { ...about, reader, range }
}

/** Describes a setting that is one of a few words. */
export function choiceSetting<const C extends string, A extends SettingDescription>(
  choices: readonly C[],
  about: A,
): Setting<Given<C, A>> {
  const fault = say('must be one of {words}', { words: choices.join(', ') })
  const reader = (text: string): ParsedSetting<C> => {
    const value = choices.find(each => each === text)
    return value === undefined ? { fault } : { value }
  }
  return { ...about, reader, choices }
}

/** Describes a setting whose text a reader turns into its value. */
export function settingWithReader<T, A extends SettingDescription>(
  reader: (text: string) => ParsedSetting<T>,
  about: A,
): Setting<Given<T, A>> {
  return { ...about, reader }
}

/** The result of reading a setting's text: its value, or what is wrong with it. The fault never repeats the text. */
export type ParsedSetting<T> = { readonly value: T } | { readonly fault: Words }

/** Splits a list at commas and semicolons, also those of Chinese, and spaces. */
export function splitList(text: string): readonly string[] {
  return text.split(/[\s,，、;；]+/).filter(item => item !== '')
}
