import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { createAdminListener } from '../../src/admin/listener.ts'
import { statusRoutes } from '../../src/admin/status/routes.ts'
import { readProviders } from '../../src/admin/status/status.ts'
import { quote } from '../../src/language/sentence.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { EMAIL_TOKEN, mailBody, SMS_TOKEN, smsBody, startRig, until } from '../rigs/service.ts'

const ADMIN_TOKEN = 'of-the-operator-Yv7gQm2sLp9r'
const STATUS_TOKEN = 'of-a-program-8fVq2xKwTz3m'
const METRICS_TOKEN = 'of-Prometheus-8fVq2xKw'
const SECRETS = ['ann@example.com', '13800138000', '104729', 'code=abc', EMAIL_TOKEN, SMS_TOKEN]

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } }
  readonly responses: Readonly<Record<string, object>>
}

/** The document as a client gets it. */
const document = parse(
  readFileSync(join(import.meta.dirname, '../../src/admin/status/openapi.yaml'), 'utf8'),
) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(document, 'openapi')

interface Call {
  readonly token?: string | null
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** A client that knows the API by its document alone, and holds every answer against it. */
function createClient(adminUrl: string) {
  const called = new Set<string>()
  async function call(
    name: string,
    { token = STATUS_TOKEN, params = {}, body, headers }: Call = {},
  ): Promise<Answer> {
    const [found] = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { operationId }]) => operationId === name)
        .map(([method, operation]) => ({ path, method, operation })),
    )
    if (found === undefined) throw new Error(`no operation ${name}`)
    const { path, method, operation } = found
    const url = new URL(
      `${adminUrl}/api/v1${path.replace(/\{(\w+)\}/g, (_, each: string) => params[each] ?? '')}`,
    )
    for (const each of operation.parameters)
      if (each.in === 'query' && params[each.name] !== undefined)
        url.searchParams.set(each.name, params[each.name] ?? '')
    const response = await fetch(url, {
      method: method.toUpperCase(),
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const answer = { status: response.status, body: (await response.json()) as Record<string, unknown> }
    t.match(response.headers.get('content-type'), 'application/json', `${name}: JSON`)
    const schema = schemaOf(operation, response.status)
    const check = ajv.getSchema(`openapi${schema}`)
    if (check?.(answer.body) !== true)
      t.fail(`${name} ${response.status} is not ${schema}: ${JSON.stringify(check?.errors)}`)
    const asked = operation.requestBody?.content['application/json'].schema
    const isRefused = / must /.test(String(answer.body['message']))
    if (asked !== undefined && typeof body === 'object' && (isRefused || answer.status === 200))
      t.equal(ajv.validate(asked, body), !isRefused, `${name} takes what it describes, and nothing else`)
    const told = SECRETS.filter(secret => JSON.stringify(answer.body).includes(secret))
    if (told.length > 0) t.fail(`${name} tells a secret: ${told.join()}`)
    called.add(`${name} ${response.status}`)
    return answer
  }
  return { call, called }
}

/** Where in the document the schema of an answer is. */
function schemaOf({ responses }: Operation, status: number): string {
  const { $ref: pointer } = (responses[String(status)] ?? {}) as { readonly $ref?: string }
  const response = (pointer === undefined ? responses[String(status)] : at(pointer)) as {
    readonly content: { readonly 'application/json': { readonly schema: { readonly $ref: string } } }
  }
  return response.content['application/json'].schema.$ref
}

function at(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((within, key) => (within as Record<string, unknown>)[key], document)
}

t.test('a client that is driven by the document gets what it describes, from every operation', async t => {
  const tokens = `${ADMIN_TOKEN} metrics/prometheus:${METRICS_TOKEN} status/shop:${STATUS_TOKEN}`
  const rig = await startRig(t, { ADMIN_TOKENS: tokens })
  const { adminUrl } = rig.service()
  const { call, called } = createClient(adminUrl)
  rig.smtp.act = ({ step, line }) =>
    step === 'RCPT' && line.includes('bob') ? { is: 'say', reply: '550 5.1.1 no such user' } : undefined

  t.same((await call('searchMessages', { body: {} })).body, { messages: [], cursor: null }, 'nothing yet')
  t.match((await call('readCalls')).body, {
    channels: [
      {
        channel: 'email',
        newestAt: null,
        refusals: { count: 0, last: null },
        heldBack: [],
        validation: null,
      },
      { channel: 'sms' },
    ],
  })
  t.match((await call('readCauses')).body, {
    causes: [{ level: 'warn', about: 'certificate' }],
  })
  const chinese = await call('readCauses', { headers: { 'accept-language': 'zh-CN' } })
  t.match(chinese.body, { causes: [{ text: /^证书/ }] })
  t.match((await call('listProviders')).body, {
    providers: [{ provider: 'smtp', up: null, lastError: null }, { provider: 'twilio' }],
  })

  await rig.post(
    'email',
    mailBody(
      { to: 'ann@example.com', subject: 'Your code' },
      { type: 5, url: undefined, code: '104729', hour: '0.5' },
    ),
  )
  await rig.post('email', mailBody({ to: 'bob@example.org' }))
  await rig.post('sms', smsBody())
  const ended = () => rig.events().filter(each => each['event'] === 'final').length
  await until(() => ended() >= 3, 'three ends')

  const found = await call('searchMessages', { body: { recipient: 'ann@example.com' } })
  const [ann] = found.body['messages'] as readonly Record<string, unknown>[]
  t.match(found.body, {
    messages: [{ maskedRecipient: 'a***@example.com', state: 'sent', channel: 'email' }],
    cursor: null,
  })
  t.equal((found.body['messages'] as readonly unknown[]).length, 1)
  const one = await call('findMessage', { params: { id: String(ann?.['id']) } })
  t.same(one.body, ann, 'the same message by its id')
  t.match(one.body, { timeline: [{ outcome: 'sent', provider: 'smtp' }] })
  const states = async (body: object) =>
    ((await call('searchMessages', { body })).body['messages'] as readonly { readonly state: string }[]).map(
      ({ state }) => state,
    )
  t.same(await states({ recipient: '+8613800138000' }), ['sent'])
  t.same(await states({ state: 'refused', channel: 'email' }), ['refused'])
  t.same(await states({ state: 'refused', channel: 'sms' }), [])
  t.same(await states({ kind: 'no-such-kind' }), [])

  t.match((await call('readCounts')).body, { backlog: { email: 0, sms: 0 }, oldest: { email: null } })
  const counts = (await call('readCounts', { params: { minutes: '43200' } })).body
  t.same(
    (
      counts['outcomes'] as readonly {
        readonly channel: string
        readonly state: string
        readonly count: number
      }[]
    )
      .map(({ channel, state, count }) => `${channel} ${state} ${count}`)
      .sort(),
    ['email refused 1', 'email sent 1', 'sms sent 1'],
  )
  t.match((await call('listProviders')).body, {
    providers: [
      { provider: 'smtp', up: true, breaker: 'closed' },
      { provider: 'twilio', up: true },
    ],
  })
  t.match((await call('listProviders', { token: ADMIN_TOKEN })).status, 200, 'an operator may ask, too')

  for (const [body, message] of [
    [{ recipient: 'nobody' }, /^body.recipient is neither/],
    [{ recipient: '' }, /^body.recipient/],
    [{ recipient: 7 }, /./],
    [{ to: 'ann@example.com' }, /^body must NOT have additional properties$/],
    [{ state: 'lost' }, /^body.state must be one of /],
    [{ cursor: '-1' }, /^body.cursor must match/],
    [{ cursor: '1'.repeat(16) }, /^body.cursor must match/],
    [{ kind: 'k'.repeat(65) }, /^body.kind must NOT have more than 64 characters$/],
    [{ recipient: '1'.repeat(321) }, /^body.recipient must NOT have more than 320 characters$/],
    [{ since: -1, before: -1 }, /^body.since must be >= 0$/],
    [[], /^body must be object$/],
    ['{"recipient":', /cannot be read/],
  ] as const)
    t.match(
      await call('searchMessages', { body }),
      { status: 400, body: { error: 'invalid', message } },
      JSON.stringify(body),
    )
  t.match(await call('searchMessages', { body: { kind: 'x'.repeat(5000) } }), {
    status: 413,
    body: { error: 'too-large' },
  })
  t.match(await call('searchMessages', { body: 'a=b', headers: { 'content-type': 'text/plain' } }), {
    status: 415,
  })
  t.match(await call('findMessage', { params: { id: 'canary' } }), {
    status: 400,
    body: { message: /^params.id/ },
  })
  t.match(await call('findMessage', { params: { id: '0'.repeat(32) } }), {
    status: 404,
    body: { error: 'not-found' },
  })
  for (const minutes of ['0', '-1', 'x', '43201', '1.5'])
    t.equal((await call('readCounts', { params: { minutes } })).status, 400, minutes)

  t.match(await call('readCounts', { token: null }), { status: 401, body: { error: 'no-token' } })
  t.match(await call('readCounts', { token: METRICS_TOKEN }), {
    status: 403,
    body: { error: 'metrics-token' },
  })

  t.match(await call('forgetRecipient', { body: { recipient: 'ann@example.com' } }), {
    status: 403,
    body: { error: 'no-operator' },
  })
  t.same(
    (await call('forgetRecipient', { token: ADMIN_TOKEN, body: { recipient: 'ann@example.com' } })).body,
    {
      messages: 1,
      live: 0,
    },
  )
  t.same(await states({ recipient: 'ann@example.com' }), [])

  for (const operations of Object.values(document.paths))
    for (const { operationId } of Object.values(operations))
      t.ok(called.has(`${operationId} 200`), operationId)

  const bearer = { headers: { authorization: `Bearer ${STATUS_TOKEN}` } }
  t.same(await (await fetch(`${adminUrl}/api/v1/openapi.json`, bearer)).json(), document, 'it is served, too')
  const nowhere = await fetch(`${adminUrl}/api/v1/secret-canary`, bearer)
  t.equal(nowhere.status, 404)
  t.same(await nowhere.json(), { error: 'not-found', message: 'no such page' })
  for (const path of ['/console', '/metrics', '/console/messages', '/find', '/backup', '/apicanary'])
    t.equal(
      (await fetch(`${adminUrl}${path}`, bearer)).status,
      401,
      `a program’s token does not open ${path}`,
    )
  for (let n = 0; n < 10; n += 1) await call('readCounts', { token: `wrong-canary-wrong-${n}` })
  t.match(await call('readCounts', { token: 'wrong-canary-wrong' }), {
    status: 429,
    body: { error: 'too-many-tries' },
  })
})

t.test('pages follow each other by the cursor, and each message is on one', async t => {
  const rig = await startRig(t)
  const { call } = createClient(rig.service().adminUrl)
  const to = Array.from({ length: 40 }, (_, n) => `p${n}@example.com`)
  for (let n = 0; n < 3; n += 1) {
    await rig.post('email', mailBody({ to: to.join(), subject: `Subject ${n}` }))
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  const ids: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null | undefined; cursor !== null && sizes.length < 9; ) {
    const { body } = await call('searchMessages', { token: null, body: { before: 9e12, cursor } })
    const messages = body['messages'] as readonly { readonly id: string }[]
    sizes.push(messages.length)
    ids.push(...messages.map(({ id }) => id))
    cursor = body['cursor'] as string | null
  }
  t.same(sizes, [40, 40, 40], 'a page ends between two callbacks')
  t.equal(new Set(ids).size, 120)
})

t.test('a store that does not answer is a 503, and a bug a 500, in JSON', async t => {
  const failures = [new StoreUnavailable(quote('the store cannot commit now')), new TypeError('a canary bug')]
  const app = createAdminListener(async () => ({ ready: true, degraded: [] }), {
    host: '127.0.0.1',
    tokens: new Map([['status/shop', STATUS_TOKEN]]),
    names: [],
    now: () => 0,
  })
  const readSummary = () => Promise.reject(failures.shift() ?? new Error('no more'))
  await app.register(statusRoutes, { view: { now: () => 0, queries: { readSummary } } } as never)
  t.teardown(() => app.close())
  const { call } = createClient(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.match(await call('readCounts'), { status: 503, body: { error: 'unavailable' } })
  t.same(await call('readCounts'), { status: 500, body: { error: 'fault', message: 'an unexpected fault' } })
})

t.test('counts cover whole minutes; somebody is forgotten, what waits first', async t => {
  const did: string[] = []
  const rows = ['a', 'b']
  const queries = {
    readSummary: async (since: number) => {
      did.push(`summary ${since}`)
      return { counts: [], backlog: { email: 0, sms: 0 }, oldest: { email: null, sms: null }, bytes: 0 }
    },
    listMessages: async ({ state, limit }: { state?: string; limit: number }) => ({
      messages: rows
        .slice(state === undefined ? 1 : limit - 1000)
        .map(id => ({ id, channel: 'sms', kind: 'k' })),
    }),
  }
  const actions = {
    cancelMessage: async (id: string) => id !== 'b',
    forgetRecipient: async (hash: string) => {
      did.push(`forget ${hash}`)
      return rows.length
    },
  }
  const app = createAdminListener(async () => ({ ready: true, degraded: [] }), {
    host: '127.0.0.1',
    tokens: new Map([['ann', ADMIN_TOKEN]]),
    names: [],
    now: () => 0,
  })
  await app.register(statusRoutes, {
    view: { now: () => 100 * 60_000 + 59_999, queries },
    actions,
    hashOf: () => 'one',
    emit: (event: object) => did.push(Object.values(event).join(' ')),
  } as never)
  t.teardown(() => app.close())
  const { call } = createClient(await app.listen({ host: '127.0.0.1', port: 0 }))
  const token = ADMIN_TOKEN
  t.match(await call('readCounts', { token, params: { minutes: '3' } }), { body: { since: 5_820_000 } })
  t.match(await call('readCounts', { token }), { body: { since: 2_400_000 } })
  t.match(await call('forgetRecipient', { token, body: { recipient: 'x' } }), {
    body: { messages: 2, live: 1 },
  })
  t.same(did, [
    'summary 5820000',
    'summary 2400000',
    'final a sms k superseded ',
    'forget one',
    'operator ann forget 2',
  ])
})

t.test(
  'a provider’s ten worst destinations: those that rest, then the most; the store’s with the first',
  async t => {
    const at = (n: number, more: object = {}) => {
      return {
        destination: `${n}`,
        place: `${n}.test`,
        inFlight: n,
        waiting: n === 13 ? 2 : 0,
        rest: null,
        ...more,
      }
    }
    const rests = at(1, { rest: { until: 9000, reply: 'why' } })
    const provider = {
      channel: 'email',
      provider: 'a',
      secondIn: [],
      destinations: [...Array.from({ length: 12 }, (_, n) => at(n + 2)), rests],
    }
    const asked: unknown[] = []
    const [first, second] = await readProviders({
      channels: ['email'],
      channelStatus: () => [provider, { ...provider, provider: 'b', destinations: [] }],
      health: { providers: () => [] },
      queries: {
        async readWaiting(channel: string, known: readonly string[]) {
          asked.push(channel, known)
          return [
            { destination: 'stored', count: 500, dueAt: 7 },
            { destination: '13', count: 4, dueAt: 8 },
          ]
        },
      },
    } as never)
    t.same(asked, ['email', ['13', '1']])
    t.same(
      first?.destinations.map(({ place }) => place),
      ['1.test', null, ...[13, 12, 11, 10, 9, 8, 7, 6].map(n => `${n}.test`)],
    )
    t.match(first?.destinations, [
      { inFlight: 1, waiting: 0, oldestAt: null, restsUntil: 9000, why: 'why' },
      { inFlight: 0, waiting: 500, oldestAt: 7, restsUntil: null, why: null },
      { inFlight: 13, waiting: 6, oldestAt: 8 },
    ])
    t.same(second?.destinations, [])
  },
)
