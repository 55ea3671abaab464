import { isObject } from '../../runtime/json-object.ts'
import type { ParsedSetting } from '../../settings/parsed-setting.ts'
import { missingSetting, type SettingFault, settingWithReader, type Values } from '../../settings/setting.ts'
import type { HttpLimits } from '../http-exchange.ts'
import { parseGateways } from './definition.ts'

/** HTTP gateways that the operator describes. */
export const gatewaySettings = {
  SMS_GATEWAYS: settingWithReader(parseGateways, {
    secret: true,
    meaning:
      'SMS carriers with an HTTP API, by name, as YAML or JSON: see docs/sms-gateways.md. As a rule a file, SMS_GATEWAYS_FILE.',
    example: '{"my-gateway": {"request": {"url": "https://sms.example.com/send", "json": "{}"}}}',
  }),
  SMS_GATEWAY_SECRETS: settingWithReader(readSecrets, {
    secret: true,
    meaning: 'The secrets that they name as secrets.NAME, as JSON on one line or in a file.',
    example: '{"my_gateway": "the-secret-of-the-gateway"}',
  }),
} as const

export type GatewaySettingValues = Values<typeof gatewaySettings>

/** The facts that the file does not state itself. */
export const GATEWAY_LIMITS: HttpLimits = { connectMs: 5_000, answerMs: 10_000, bodyMs: 5_000 }

const SECRETS =
  'must be JSON such as {"my_gateway": "the-secret"}: names of letters, digits and _, each with a text'

function readSecrets(text: string): ParsedSetting<ReadonlyMap<string, string>> {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return { fault: SECRETS }
  }
  const secrets = isObject(given) ? Object.entries(given) : [['', '']]
  const isRight = secrets.every(
    ([name, secret]) => /^\w{1,64}$/.test(name) && typeof secret === 'string' && secret !== '',
  )
  return isRight ? { value: new Map(secrets as readonly [string, string][]) } : { fault: SECRETS }
}

/** Secrets that the file names and nobody gives. */
export function findGatewayFaults(s: Partial<GatewaySettingValues>): readonly SettingFault[] {
  const { SMS_GATEWAYS: gateways = [], SMS_GATEWAY_SECRETS: secrets = new Map() } = s
  return gateways
    .flatMap(({ name, secrets: needed }) =>
      needed.filter(each => !secrets.has(each)).map(each => ({ name, each })),
    )
    .map(({ name, each }) => missingSetting('SMS_GATEWAY_SECRETS', `${name} needs secrets.${each} in it`))
}
