import { randomBytes, randomInt } from 'node:crypto'
import type { Test } from 'tap'
import { createTokens } from '../../sandbox/emulator/accounts.ts'
import { createContractChecker } from '../../sandbox/emulator/contract.ts'
import { createDdqServer } from '../../sandbox/emulator/ddq-server.ts'
import { createDeviceReporter, DEVICES } from '../../sandbox/emulator/device-simulator.ts'
import { createDdqClient, type DdqClientOptions, type Timings } from '../../src/devices/ddq-client.ts'
import type { DdqMessage } from '../../src/devices/message.ts'
import { createCredential } from '../../src/devices/platform-api.ts'
import type { DdqAddress } from '../../src/settings/urls.ts'
import { until as waitUntil } from '../rigs/until.ts'

export const [device, second, large] = DEVICES as [
  (typeof DEVICES)[0],
  (typeof DEVICES)[0],
  (typeof DEVICES)[0],
]
const APP = 'application-1'

/** As the contract's, a hundred times as fast. */
export const quick: Timings = { heartbeatMs: 20, silenceMs: 300, reconnectMs: 50, answerMs: 2000 }

/** The emulated DDQ on a port of its own, and a client of it that is started. */
export async function connecting(
  t: Test,
  options: Partial<DdqClientOptions> & {
    readonly paths?: readonly [string, string]
    readonly heartbeat?: DdqAddress['heartbeat']
    /** The clock by which its token ages, ms. */
    readonly tokensNow?: () => number
  } = {},
) {
  const [authenticatePath, subscribePath] = options.paths ?? ['/auth', '/subscribe']
  const contract = createContractChecker(Date.now)
  const now = () => performance.now()
  const tokens = createTokens({
    lifeMs: 3_600_000,
    unit: 'seconds',
    now,
    random: n => randomBytes(n).toString('hex'),
  })
  const server = createDdqServer({
    contract,
    authenticatePath: '/auth',
    subscribePath: '/subscribe',
    accepts: (appId, token) => appId === APP && tokens.holderOf(token) === 'app',
    randomInt,
    anyProduct: '+',
    onChange: () => {},
  })
  const port = await server.listen(0)
  let logins = 0
  const messages: DdqMessage[] = []
  const malformed: { topic: string; fault: string; shape: string }[] = []
  const ends: string[] = []
  /** How long each end was waited after, ms. */
  const waits: number[] = []
  const ddq = {
    endpoint: {
      origin: `http://127.0.0.1:${port}`,
      authenticatePath,
      subscribePath,
      heartbeat: options.heartbeat ?? 'ping',
    },
    timings: quick,
    appId: APP,
    credential: createCredential(async () => {
      logins += 1
      return { ok: true, value: { accessToken: tokens.issue('app').access_token } }
    }, options.tokensNow),
    topics: ['/device-biz/state/product', '/device/alert/product/+', 'thing/event/+/event_report'],
    random: () => 0.5,
    now,
  }
  const client = createDdqClient({
    ...ddq,
    onMalformed: what => malformed.push({ ...what, fault: String(what.fault) }),
    onEnd: (end, waitMs) => {
      waits.push(waitMs)
      ends.push(`${end.is}: ${String(end.why)}`)
    },
    onRefused: () => {},
    onSubscribed: () => {},
    ...options,
    onMessage(message) {
      messages.push(message)
      return options.onMessage?.(message)
    },
  })
  t.teardown(async () => {
    client.stop()
    await server.close()
  })

  const until = (isSo: () => boolean) => waitUntil(isSo, 'what the line has to do')

  let serial = 0
  const reporter = createDeviceReporter({ corpId: '100fa4b2', now: Date.now, id: () => `m${(serial += 1)}` })
  client.start()
  return {
    client,
    ddq,
    server,
    contract,
    tokens,
    messages,
    malformed,
    ends,
    waits,
    reporter,
    until,
    logins: () => logins,
    ready: () => until(() => client.status().subscribed),
    ids: () => messages.map(({ id }) => id),
  }
}

/** The same once it has subscribed. */
export async function subscribed(...given: Parameters<typeof connecting>) {
  const line = await connecting(...given)
  await line.ready()
  return line
}
