import { say, type Words } from '../language/sentence.ts'
import type { PluginSender, SmsSender } from '../messages/message.ts'
import { objectOf, parseJson } from '../runtime/json-object.ts'
import { readLocale } from './readers.ts'
import { type ParsedSetting, splitList } from './setting.ts'

const NUMBER = /^\+[1-9]\d{6,14}$/
const SHORT_CODE = /^\d{3,8}$/
const NAME = /^(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}$/
const SERVICE = /^MG[0-9a-fA-F]{32}$/

/** Country as ISO 3166-1 says it in two letters, known to the Unicode tables that come with Node. */
function isCountryCode(text: string): boolean {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  return /^[A-Z]{2}$/.test(text) && !['UK', 'EU', 'UN', 'ZZ'].includes(text) && names.of(text) !== undefined
}

/** A list of countries, or `*` for every country. */
export function readCountries(text: string): ParsedSetting<'*' | readonly string[]> {
  if (text.trim() === '*') return { value: '*' }
  const countries = splitList(text).map(country => country.toUpperCase())
  return countries.every(isCountryCode)
    ? { value: countries }
    : { fault: 'must be countries in two letters such as CN, US, DE (Great Britain is GB), or * for all' }
}

function parseSender(text: unknown): SmsSender | null {
  if (typeof text !== 'string') return null
  if (SERVICE.test(text)) return { messagingServiceSid: text }
  return NUMBER.test(text) || SHORT_CODE.test(text) || NAME.test(text) ? { from: text } : null
}

/** `TWILIO_FROM`: a number, a short code, an alphanumeric sender id or a messaging service. */
export function readFrom(text: string): ParsedSetting<SmsSender> {
  const who = parseSender(text.trim())
  return who === null
    ? {
        fault:
          'must be a number such as +15005550006, a name of up to 11 letters and digits, or a messaging service (MG…)',
      }
    : { value: who }
}

const PLUGINS =
  'must be JSON such as {"plugin-1": {"signature": "Example", "from": "+15005550006", "signatures": {"aliyun": "Example"}}}; from is a number, a name of up to 11 letters or a messaging service (MG…)'

function isSignature(text: unknown): boolean {
  return typeof text === 'string' && /^[^\p{Cc}]{1,40}$/u.test(text)
}

/** `PLUGIN_SENDERS`: plugin_id → signature and sender. */
export function readSenders(text: string): ParsedSetting<ReadonlyMap<string, PluginSender>> {
  const given = objectOf(parseJson(text))
  if (given === null) return { fault: PLUGINS }
  const senders = new Map<string, PluginSender>()
  for (const [pluginId, value] of Object.entries(given)) {
    const { signature, signatures, from, ...more } = objectOf(value) ?? { unknown: true }
    const who = from === undefined ? undefined : parseSender(from)
    const ofCarriers = signatures === undefined ? {} : objectOf(signatures)
    if (who === null || ofCarriers === null || Object.keys(more).length > 0) return { fault: PLUGINS }
    if (![signature ?? 'none', ...Object.values(ofCarriers)].every(isSignature)) return { fault: PLUGINS }
    senders.set(pluginId, {
      ...(typeof signature === 'string' ? { signature } : {}),
      ...(signatures === undefined ? {} : { signatures: ofCarriers as Readonly<Record<string, string>> }),
      ...who,
    })
  }
  return { value: senders }
}

/** `SENDER_BY_COUNTRY`: country → sender. */
export function readSendersByCountry(text: string): ParsedSetting<ReadonlyMap<string, SmsSender>> {
  const fault = 'must be JSON such as {"US": "+15005550006", "DE": "Example"}; countries in two letters'
  return readByCountry(text, parseSender, fault)
}

/** `LOCALE_BY_COUNTRY`: country → language of its SMS. */
export function readLocalesByCountry(text: string): ParsedSetting<ReadonlyMap<string, string>> {
  const fault = 'must be JSON such as {"CN": "zh-CN", "TW": "zh-TW"}; countries in two letters'
  return readByCountry(text, parseLocale, fault)
}

function parseLocale(text: unknown): string | null {
  const locale = typeof text === 'string' ? readLocale(text) : null
  return locale !== null && 'value' in locale ? locale.value : null
}

/** @param read gives null for a value that is none. */
function readByCountry<T>(
  text: string,
  read: (value: unknown) => T | null,
  fault: Words,
): ParsedSetting<ReadonlyMap<string, T>> {
  const values = new Map<string, T>()
  for (const [country, given] of Object.entries(objectOf(parseJson(text)) ?? { '': null })) {
    const value = read(given)
    if (value === null || !isCountryCode(country)) return { fault }
    values.set(country, value)
  }
  return { value: values }
}

/** Country, or `*` for all others, to the names of its carriers in the order in which they are asked. */
export type SmsRoutes = ReadonlyMap<string, readonly string[]>

const FORM = say('must be routes such as CN=aliyun,tencent; US,CA=twilio; *=twilio')

/** `SMS_ROUTES`: countries and carriers, `;` between routes. Which carriers there are is not known here. */
export function readRoutes(text: string): ParsedSetting<SmsRoutes> {
  const routes = new Map<string, readonly string[]>()
  for (const part of text.split(/[;；]/).filter(each => each.trim() !== '')) {
    const [left = '', right, ...more] = part.split('=')
    const carriers = splitList(right ?? '')
    const countries = splitList(left).map(country => country.toUpperCase())
    if (more.length > 0 || countries.length === 0 || carriers.length === 0) return { fault: FORM }
    if (new Set(carriers).size < carriers.length)
      return { fault: say('{form}: a route names a carrier twice', { form: FORM }) }
    for (const country of countries) {
      if (country !== '*' && !isCountryCode(country))
        return {
          fault: say('{form}; countries in two letters (Great Britain is GB), * for all others', {
            form: FORM,
          }),
        }
      if (routes.has(country)) return { fault: say('{form}: a country has two routes', { form: FORM }) }
      routes.set(country, carriers)
    }
  }
  return routes.size > 0 ? { value: routes } : { fault: FORM }
}

/** The carriers for a country; undefined: no route leads there. */
export function routeOf(routes: SmsRoutes, country: string): readonly string[] | undefined {
  return routes.get(country) ?? routes.get('*')
}

/** Says whether a route names a carrier. */
export function isRouted(routes: SmsRoutes | undefined, carrier: string): boolean {
  return [...(routes?.values() ?? [])].some(carriers => carriers.includes(carrier))
}

/** The carriers that stand beside another one in a route. */
export function carriersWithOthers(routes: SmsRoutes): ReadonlySet<string> {
  return new Set([...routes.values()].filter(({ length }) => length > 1).flat())
}
