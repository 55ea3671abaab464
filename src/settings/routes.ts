import { type ParsedSetting, splitList } from './parsed-setting.ts'
import { isCountryCode } from './senders.ts'

/** Country, or `*` for all others, to the names of its carriers in the order in which they are asked. */
export type SmsRoutes = ReadonlyMap<string, readonly string[]>

const FORM = 'must be routes such as CN=aliyun,tencent; US,CA=twilio; *=twilio'

/** `SMS_ROUTES`: countries and carriers, `;` between routes. Which carriers there are is not known here. */
export function readRoutes(text: string): ParsedSetting<SmsRoutes> {
  const routes = new Map<string, readonly string[]>()
  for (const part of text.split(';').filter(each => each.trim() !== '')) {
    const [left = '', right, ...more] = part.split('=')
    const carriers = splitList(right ?? '')
    const countries = splitList(left).map(country => country.toUpperCase())
    if (more.length > 0 || countries.length === 0 || carriers.length === 0) return { fault: FORM }
    if (new Set(carriers).size < carriers.length) return { fault: `${FORM}: a route names a carrier twice` }
    for (const country of countries) {
      if (country !== '*' && !isCountryCode(country))
        return { fault: `${FORM}; countries in two letters (Great Britain is GB), * for all others` }
      if (routes.has(country)) return { fault: `${FORM}: a country has two routes` }
      routes.set(country, carriers)
    }
  }
  return routes.size > 0 ? { value: routes } : { fault: FORM }
}

/** The carriers for a country; undefined: no route leads there. */
export function routeOf(routes: SmsRoutes, country: string): readonly string[] | undefined {
  return routes.get(country) ?? routes.get('*')
}

/** The carriers that stand beside another one in a route. */
export function carriersWithOthers(routes: SmsRoutes): ReadonlySet<string> {
  return new Set([...routes.values()].filter(({ length }) => length > 1).flat())
}
