import { ConfigError, loadSomeSettings } from '../config/config.ts'
import { settingNames } from '../config/settings.ts'
import { createDdqClient } from '../devices/ddq-client.ts'
import { type DdqMessage, topicFor } from '../devices/message.ts'
import { quote, type Sentence, say, tell, withRemedy } from '../language/sentence.ts'
import { stringifyExactly } from '../runtime/exact-json.ts'
import { DDQ_TIMINGS, openDdq } from '../service/device-alerts.ts'
import { findFileFaults } from '../service/files.ts'
import { trustAuthorities } from '../tls/certificate.ts'
import { type Command, type Io, readArguments, UsageError, writeLine } from './command.ts'

export const ddq: Command = async ([what, ...argv], io) => {
  if (what !== 'tail')
    throw new UsageError(
      what === undefined ? say('say what to do: tail') : say('what is “{word}”?', { word: what }),
    )
  const { values } = readArguments(argv, {
    topic: { type: 'string', multiple: true },
    product: { type: 'string' },
    count: { type: 'string' },
  })
  const count = values.count === undefined ? Number.POSITIVE_INFINITY : Number(values.count)
  if (!(count >= 1)) throw new UsageError(say('--count must be 1 or more'))
  return tail(io, values.topic, values.product, count)
}

const NAMES = settingNames.filter(name => /^(?:DDQ_|TLS_CA_FILE$)/.test(name))
const NEEDED = ['DDQ_URL', 'DDQ_AUTH_URL', 'DDQ_APP_ID', 'DDQ_APP_SECRET'] as const

async function tail(
  io: Io,
  topics: readonly string[] | undefined,
  product: string | undefined,
  count: number,
): Promise<number> {
  const given = loadSomeSettings(io, NAMES)
  const absent = NEEDED.filter(name => given[name] === undefined)
  const faults = [
    ...absent.map(name => ({ name, problem: 'is missing' as const })),
    ...findFileFaults(given, io.readFile),
  ]
  if (faults.length > 0) throw new ConfigError(faults)
  trustAuthorities(given.TLS_CA_FILE, io.readFile)
  const settings = given as Required<{ [K in keyof typeof given]: NonNullable<(typeof given)[K]> }>
  const connection = openDdq(settings)
  const any = product ?? settings.DDQ_URL.anyProduct
  const kinds = ['online-state', 'attributes', 'event', 'alert'] as const
  const report = (sentence: Sentence) => writeLine(io, 'stderr', sentence)
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  let printed = 0
  const client = createDdqClient({
    ...connection,
    timings: DDQ_TIMINGS,
    topics: topics ?? kinds.map(kind => topicFor(kind, any)),
    random: Math.random,
    now: () => performance.now(),
    onMessage(message) {
      if (printed >= count) return
      io.stdout.write(`${formatMessage(message, new Date())}\n`)
      printed += 1
      if (printed >= count) end()
    },
    onMalformed: ({ topic, fault, shape }) =>
      report(say('malformed ({topic}): {fault}; {shape}', { topic: topic || '?', fault, shape })),
    onSubscribed: topics =>
      report(say('subscribed to {topics} topics at {host}', { topics, host: settings.DDQ_URL.origin })),
    onRefused: (topic, why) => report(withRemedy(quote(topic), why)),
    onEnd: ({ why }, waitMs) =>
      report(say('{why}; again in {n} s', { why: tell(why), n: (waitMs / 1000).toFixed(1) })),
  })
  if (io.signal?.aborted) end()
  io.signal?.addEventListener('abort', () => end(), { once: true })
  client.start()
  await over
  client.stop()
  await connection.close()
  return 0
}

/** What a terminal could take for commands, or not show. */
const UNSHOWN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Escapes it as JSON does, so that what is read back is what the device said. */
function formatMessage({ topic, kind, id, payload }: DdqMessage, at: Date): string {
  const text = stringifyExactly({ at: at.toISOString(), topic, kind, message_id: id, payload })
  return text.replace(UNSHOWN, character =>
    character.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}
