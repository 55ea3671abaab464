import { readFileSync, statSync } from 'node:fs'
import { Ajv } from 'ajv'
import { say, type Words, withRemedy } from '../language/sentence.ts'
import type { OutgoingSms, PluginSender } from '../messages/message.ts'
import { judgeUnreadable } from '../runtime/fault.ts'
import { describeFile, watchFiles } from '../runtime/file-watch.ts'
import { parseYaml, type YamlFault } from '../runtime/yaml-text.ts'
import { readLocale } from '../settings/readers.ts'
import schema from './sms-templates.schema.json' with { type: 'json' }
import type { MappedTemplate, SmsTemplates, TemplateUse } from './sms-templates.ts'

/** The names that a file may use. */
export interface KnownTerms {
  readonly carriers: readonly string[]
  /** The kinds of SMS, each with its parameters. */
  readonly kinds: ReadonlyMap<string, readonly string[]>
}

export interface SmsTemplateFileOptions extends KnownTerms {
  readonly path: string
  /** The senders by plugin_id; their signatures come before those of the file. */
  readonly pluginSenders: ReadonlyMap<string, PluginSender>
  /** Called at every change with the faults of the file as it is now; none when it was read. */
  readonly onChange?: (faults: readonly YamlFault[]) => void
  /** How often it is looked at, ms. */
  readonly pollEveryMs?: number
}

/** Templates that follow their file. */
export interface SmsTemplateFile extends SmsTemplates {
  /** The faults of the file as it is now; the last good one is used meanwhile. */
  faults(): readonly YamlFault[]
  close(): void
}

/**
 * Reads SMS_TEMPLATES_FILE, and again when it has changed. One that cannot be used leaves the last good one in force; at
 * the start there is none, so whoever opens it looks at `faults`.
 */
export function openSmsTemplateFile(options: SmsTemplateFileOptions): SmsTemplateFile {
  const { path, onChange, pollEveryMs = 1000 } = options
  let faults: readonly YamlFault[] = []
  let templates: readonly CarrierTemplate[] = []
  const known = fingerprint(path)

  function load(): void {
    const read = readFile(path, options)
    faults = read.faults
    if (faults.length === 0) templates = read.templates
  }

  load()
  const close = watchFiles({
    fingerprint: () => fingerprint(path),
    known,
    everyMs: pollEveryMs,
    onChange() {
      load()
      onChange?.(faults)
    },
  })
  return { ...templatesOf(() => templates, options), faults: () => faults, close }
}

/** Decides which template of the file each message is sent with. */
function templatesOf(
  templates: () => readonly CarrierTemplate[],
  { pluginSenders }: SmsTemplateFileOptions,
): SmsTemplates {
  const ofCarrier = (carrier: string) => templates().filter(each => each.carrier === carrier)
  return {
    templateFor(carrier, message) {
      const region = message.country === 'CN' ? 'mainland' : 'abroad'
      const { kind, locale } = message
      const fitting = ofCarrier(carrier).filter(each => each.kind === kind && each.region === region)
      const where = WHERE[region]
      if (fitting.length === 0) return { why: say('no template for {kind} {where}', { kind, where }) }
      const found = bestLocale(fitting, locale)
      if (found === undefined)
        return {
          why: say('no template for {kind} {where} in the language {locale}', { kind, where, locale }),
        }
      const own = message.pluginId === undefined ? undefined : pluginSenders.get(message.pluginId)
      return fill(found, message, own?.signatures?.[carrier])
    },
    mapped: ofCarrier,
    signatures(carrier) {
      const ofPlugins = [...pluginSenders.values()].map(each => each.signatures?.[carrier])
      const all = [...ofPlugins, ...ofCarrier(carrier).map(({ signature }) => signature)]
      return [...new Set(all.filter(each => each !== undefined))]
    },
  }
}

const WHERE = { mainland: say('in China'), abroad: say('outside China') } as const

/** The template of the language, of one that it begins with, or of every language. */
function bestLocale(templates: readonly CarrierTemplate[], locale: string): CarrierTemplate | undefined {
  const [language] = locale.split('-')
  const best = [locale, language, undefined].map(wanted => templates.find(each => each.locale === wanted))
  return best.find(each => each !== undefined)
}

/** The template with the message's values in the places of its parameters. */
function fill(
  { template, signature: usual, params }: CarrierTemplate,
  message: OutgoingSms,
  ownSignature: string | undefined,
): TemplateUse | { readonly why: Words } {
  const names: readonly string[] = Object.values(params)
  // An empty value is none: a carrier takes it for a fault of the template.
  const missing = names.find(name => !message.params[name])
  if (missing !== undefined)
    return { why: say('its template says {missing}, which the message does not have', { missing }) }
  const value = (name: string): string => message.params[name] ?? ''
  const signature = ownSignature ?? usual
  const filled = Array.isArray(params)
    ? names.map(value)
    : Object.fromEntries(Object.entries(params).map(([theirs, ours]) => [theirs, value(ours)]))
  return { template, ...(signature !== undefined && { signature }), params: filled }
}

interface CarrierTemplate extends MappedTemplate {
  readonly carrier: string
}

/** A template as it stands in the file. */
interface WrittenTemplate {
  readonly template: string | number
  readonly signature?: string
  readonly params?: Readonly<Record<string, string>> | readonly string[]
}

type ByLocale = Readonly<Record<string, WrittenTemplate>>
type Written = Readonly<
  Record<
    string,
    Readonly<Record<string, Readonly<Record<'mainland' | 'abroad', WrittenTemplate | ByLocale>>>>
  >
>

const isWritten = new Ajv({
  allowUnionTypes: true,
  strictTypes: false,
  validateSchema: false,
}).compile<Written>(schema)

/** Templates count when there are no faults. */
interface Read {
  readonly templates: readonly CarrierTemplate[]
  readonly faults: readonly YamlFault[]
}

function readFile(path: string, known: KnownTerms): Read {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { problem, remedy } = judgeUnreadable(error)
    const reason = withRemedy(say('{path} {problem}', { path, problem }), remedy)
    return { templates: [], faults: [{ line: 0, reason }] }
  }
  return parseSmsTemplates(text, known)
}

/**
 * Reads the text of a file: carrier → kind → `mainland` or `abroad` → a template, or one for each language.
 * @param text YAML 1.2, which JSON is too.
 */
export function parseSmsTemplates(text: string, known: KnownTerms): Read {
  const read = parseYaml(text, isWritten)
  if ('fault' in read) return { templates: [], faults: [read.fault] }
  const templates = flatten(read.value)
  const faults = templates.flatMap(each => {
    const reason = whyUnknown(each, known)
    return reason === null ? [] : [{ line: read.lineAt([each.carrier, each.kind, each.region]), reason }]
  })
  return { templates, faults }
}

function flatten(written: Written): readonly CarrierTemplate[] {
  return Object.entries(written).flatMap(([carrier, kinds]) =>
    Object.entries(kinds).flatMap(([kind, regions]) =>
      Object.entries(regions).flatMap(([region, given]) =>
        ('template' in given ? [['*', given as WrittenTemplate] as const] : Object.entries(given)).map(
          ([locale, { template, signature, params = [] }]) => ({
            carrier,
            kind,
            region: region as MappedTemplate['region'],
            ...(locale !== '*' && { locale }),
            template: String(template),
            ...(signature !== undefined && { signature }),
            params,
          }),
        ),
      ),
    ),
  )
}

/** The fault of a template that names what does not exist; null: none. */
function whyUnknown(
  { carrier, kind, locale, params }: CarrierTemplate,
  { carriers, kinds }: KnownTerms,
): Words | null {
  if (!carriers.includes(carrier))
    return say('names a carrier that there is not: choose from {carriers}', { carriers: carriers.join(', ') })
  const has = kinds.get(kind)
  if (has === undefined)
    return say('names a kind that there is not: choose from {kinds}', { kinds: [...kinds.keys()].join(', ') })
  if (locale !== undefined && !isLocale(locale))
    return say('{carrier}/{kind} names a language that there is not', { carrier, kind })
  return Object.values(params).every(name => has.includes(name))
    ? null
    : say('{carrier}/{kind} names a parameter that the kind does not have: choose from {has}', {
        carrier,
        kind,
        has: has.join(', '),
      })
}

function isLocale(tag: string): boolean {
  const read = readLocale(tag)
  return 'value' in read && read.value === tag
}

function fingerprint(path: string): string {
  return describeFile(statSync(path, { throwIfNoEntry: false }))
}
