import { readHeaders, readPairs, readRatio, readSwitch } from '../../settings/readers.ts'
import { choiceSetting, type Group, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readCollectorUrl } from '../../settings/urls.ts'

const settings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: settingWithReader(readCollectorUrl, {
    meaning:
      'An OpenTelemetry collector: a trace of every callback is sent there, by HTTP as JSON (port 4318), under /v1/traces. Off without it.',
    example: 'http://localhost:4318',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: settingWithReader(readCollectorUrl, {
    meaning: 'The whole address for traces, instead of the one above.',
    example: 'https://collector.example.com/v1/traces',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: settingWithReader(readHeaders, {
    secret: true,
    meaning: 'Headers of each request to the collector, name=value parted by commas, values percent-encoded.',
    example: 'api-key=the-key-of-the-collector',
  }),
  OTEL_SERVICE_NAME: textSetting({
    minLength: 1,
    default: 'callback-courier',
    meaning: 'What this service is called in traces.',
    example: 'callback-courier-eu',
  }),
  OTEL_RESOURCE_ATTRIBUTES: settingWithReader(readPairs, {
    meaning: 'What traces say of this service, name=value parted by commas.',
    example: 'deployment.environment.name=production,service.namespace=iot',
  }),
  OTEL_TRACES_SAMPLER: choiceSetting(
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    {
      default: 'parentbased_always_on',
      meaning:
        "Which callbacks are traced. parentbased: as the caller's traceparent says, and by the rest of the name where there is none.",
      example: 'parentbased_traceidratio',
    },
  ),
  OTEL_TRACES_SAMPLER_ARG: settingWithReader(readRatio, {
    default: '1',
    meaning: 'With traceidratio: which share of callbacks, from 0 to 1.',
    example: '0.1',
  }),
  OTEL_SDK_DISABLED: settingWithReader(readSwitch, {
    default: 'false',
    meaning: 'true: no traces, whatever else is set.',
    example: 'true',
  }),
} as const

/** Traces, by the variables of the OpenTelemetry specification. */
export const traces: Group<typeof settings> = {
  title: 'Traces (OpenTelemetry)',
  about: 'Off unless an endpoint is set (docs/operations.md).',
  settings,
}
