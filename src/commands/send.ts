import { randomInt } from 'node:crypto'
import { loadConfig } from '../config/config.ts'
import { reachableHost } from '../config/sources.ts'
import { languageOfBrowser } from '../language/choose.ts'
import { quote, type ReaderLanguage, type Sentence, say, tell } from '../language/sentence.ts'
import { type CallbackKind, callbackKinds } from '../messages/kinds.ts'
import { sampleIn } from '../messages/samples.ts'
import { callbackUrls } from '../service/callback-urls.ts'
import { findUnsendable, withProviders } from '../service/sample-sms.ts'
import { trustAuthorities } from '../tls/certificate.ts'
import { type CallbackAnswer, createCallbackClient } from './callback-client.ts'
import { type Command, failWith, readArguments, UsageError, writeLine } from './command.ts'

const OPTIONS = {
  to: { type: 'string' },
  type: { type: 'string', default: '1' },
  param: { type: 'string', multiple: true, default: [] as string[] },
  subject: { type: 'string' },
  plain: { type: 'string' },
  'area-code': { type: 'string' },
  plugin: { type: 'string' },
  base: { type: 'string' },
  local: { type: 'boolean', default: false },
  insecure: { type: 'boolean', default: false },
  unsigned: { type: 'boolean', default: false },
  'validate-only': { type: 'boolean', default: false },
} as const

/** The options that the callback's body is made of. */
interface BodyOptions {
  readonly to?: string
  readonly type: string
  readonly param: readonly string[]
  readonly subject?: string
  readonly plain?: string
  readonly plugin?: string
  readonly 'area-code'?: string
}

export const send: Command = async (argv, io) => {
  const { values, positionals } = readArguments(argv, OPTIONS, { least: 1, most: 1 })
  const [channel] = positionals
  if (channel !== 'email' && channel !== 'sms') throw new UsageError(say('say email or sms'))
  const kind = callbackKinds.find(
    each => each.channel === channel && (String(each.type) === values.type || each.name === values.type),
  )
  const bodyIn = (language: ReaderLanguage) =>
    values['validate-only']
      ? null
      : buildBody(channel, kind && { ...kind, sample: sampleIn(language, kind) }, values)
  // A wrong command line is said before wrong settings.
  bodyIn('en')
  const config = loadConfig(io)
  const body = bodyIn(languageOfBrowser(config.LOCALE))
  const here = `${config.TLS ? 'https' : 'http'}://${reachableHost(config.HOST)}:${config.PORT}`
  const base = values.local ? here : (values.base?.replace(/\/+$/, '') ?? config.PUBLIC_URL ?? here)
  const entry = callbackUrls(config, base).find(each => each.channel === channel)
  if (entry === undefined) {
    const setting = channel === 'email' ? 'EMAIL_TOKEN' : 'SMS_TOKEN'
    return failWith(io, say('{channel} is off: {setting} is not set', { channel: say(channel), setting }))
  }
  trustAuthorities(config.TLS_CA_FILE, io.readFile)
  const platform = createCallbackClient({ insecure: values.insecure || values.local })
  const credentials = { corpId: config.CORP_ID, token: entry.token }
  try {
    const validated = await platform.validate(entry.url, credentials)
    writeLine(io, 'stdout', say('validate  {answer}', { answer: formatAnswer(validated) }))
    if (!isSuccess(validated)) return 1
    if (body === null) return 0
    if (channel === 'sms' && kind !== undefined)
      for (const sentence of await withProviders(config, opened => findUnsendable(config, opened, kind.name)))
        writeLine(io, 'stderr', sentence)
    const answered = await platform.post(entry.url, body, ...(values.unsigned ? [] : [credentials]))
    writeLine(io, 'stdout', say('send      {answer}', { answer: formatAnswer(answered) }))
    if (config.ONLY_TO !== undefined)
      writeLine(
        io,
        'stdout',
        say('ONLY_TO is set: what is for a recipient that it does not name is held, and never sent'),
      )
    return isSuccess(answered) ? 0 : 1
  } finally {
    await platform.close()
  }
}

function isSuccess(answer: CallbackAnswer): boolean {
  return answer.is === 'answered' && answer.status === 200 && answer.errCode === 0
}

function formatAnswer(answer: CallbackAnswer): Sentence {
  const { ms } = answer
  if (answer.is === 'unreachable') {
    const why = tell(answer.why)
    return answer.certificateRefused
      ? say(
          'no answer: {why} ({ms} ms); TLS_CA_FILE names an authority of your own, and --insecure takes any certificate',
          { why, ms },
        )
      : say('no answer: {why} ({ms} ms)', { why, ms })
  }
  const { status, errCode, errMsg, body } = answer
  const code =
    errCode === null ? say('no err_code in: {body}', { body: body.slice(0, 200) }) : `err_code ${errCode}`
  const text = quote(errMsg, String(errCode))
  return say('HTTP {status}  {code}  {ms} ms  {text}', { status, code, ms, text })
}

/** Builds the callback's body: a sample of the kind, with the values of the options in place of its own. */
function buildBody(channel: 'email' | 'sms', known: CallbackKind | undefined, options: BodyOptions): object {
  if (options.to === undefined) throw new UsageError(say('--to is missing'))
  const { plain, subject, plugin, 'area-code': area } = options
  if (known === undefined && plain === undefined)
    throw new UsageError(
      say('type {type} is not known: name another, or give its text with --plain', { type: options.type }),
    )
  const params = {
    type: known?.type ?? options.type,
    ...(known && markedSample(known)),
    ...Object.fromEntries(options.param.map(parseParam)),
  }
  return channel === 'email'
    ? {
        subject: subject ?? known?.sample.subject ?? 'Test',
        to: options.to,
        email_param: params,
        plain_email: plain ?? null,
      }
    : {
        to: options.to,
        area_code: area ?? null,
        sms_param: params,
        plain_sms: plain ?? null,
        plugin_id: plugin ?? null,
      }
}

/** The parameters of a kind's sample, made different from the last ones, whose duplicate the callback would be otherwise. */
function markedSample(kind: CallbackKind): Record<string, string> {
  const { params } = kind.sample
  const marked = findMarkedParam(kind)
  const mark = String(randomInt(100_000, 1_000_000))
  return { ...params, [marked]: markValue(marked, params[marked] ?? '', mark) }
}

/** The parameter of a kind's sample that a mark goes into: the code, the link, a name. */
export function findMarkedParam({ linkParam, sample: { params } }: CallbackKind): string {
  return ['code', linkParam, 'productName', Object.keys(params)[0]].find(key => key && key in params) ?? ''
}

/** Puts a mark into a parameter's value. @param mark six digits; a code becomes them. */
export function markValue(name: string, value: string, mark: string): string {
  if (name === 'code') return mark
  if (!URL.canParse(value)) return `${value} ${mark}`
  return `${value}${value.includes('?') ? '&' : '?'}t=${mark}`
}

function parseParam(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(say('--param {text}: write it as KEY=VALUE', { text }))
  return [text.slice(0, at), text.slice(at + 1)]
}
