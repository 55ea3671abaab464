import type { SettingFault } from '../settings/setting.ts'

/** A setting of an earlier version that is still set. */
export interface RemovedSetting extends Required<SettingFault> {
  /** It says whether the setting held messages back, so that more goes out without it. */
  readonly isBrake: boolean
}

const BRAKE = 'is not read any more and holds nothing back'

/** The variables that OpenTelemetry's own programs read, too. */
const OF_TRACES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_HEADERS_FILE',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_SDK_DISABLED',
]
const TRACES = {
  problem: 'is not read any more, since this service sends no traces',
  remedy: 'take it out; the timeline of a message (console, `callback-courier find`) says the same',
  isBrake: false,
}

/** What each of them is answered. A brake counts only when it was on. */
const REMOVED: Readonly<Record<string, Omit<RemovedSetting, 'name'>>> = {
  QUOTA_SMS_COST_PER_DAY: {
    problem: BRAKE,
    remedy: 'set QUOTA_SMS_PER_DAY to the number of SMS that you are willing to pay for, and take it out',
    isBrake: true,
  },
  QUOTA_SMS_CARRIER_PER_DAY: {
    problem: BRAKE,
    remedy: 'set QUOTA_SMS_PER_DAY or QUOTA_SMS_COUNTRY_PER_DAY, and take it out',
    isBrake: true,
  },
  SMS_COSTS: {
    problem: 'is not read any more',
    remedy: 'take it out; QUOTA_SMS_PER_DAY limits SMS, your carrier knows the prices',
    isBrake: false,
  },
  ...Object.fromEntries(OF_TRACES.map(name => [name, TRACES])),
}

/** Lists the settings that are set and that this version does not have any more. @param given texts by name; none is empty */
export function findRemovedSettings(given: Readonly<Record<string, string>>): readonly RemovedSetting[] {
  return Object.entries(REMOVED).flatMap(([name, removed]) => {
    const text = given[name]
    return text === undefined ? [] : [{ name, ...removed, isBrake: removed.isBrake && Number(text) !== 0 }]
  })
}

/** Says whether a name was one of a setting once. */
export function wasSetting(name: string): boolean {
  return Object.hasOwn(REMOVED, name)
}
