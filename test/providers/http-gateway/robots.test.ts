import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { NewMessage } from '../../../src/messages/message.ts'
import type { Acceptance, Accepted } from '../../../src/outbox/outbox.ts'
import { parseGateways } from '../../../src/providers/http-gateway/definition.ts'
import { createRobots, type RobotPost, tellRobots } from '../../../src/providers/http-gateway/robots.ts'
import { inEnglish } from '../../language/english.ts'
import { listen } from '../../rigs/listen.ts'
import { until } from '../../rigs/until.ts'
import { gatewayOf } from './rig.ts'

const SECRETS = {
  dingtalk_token: 'tok+/1',
  dingtalk_secret: 'SEC0d51',
  feishu_hook: 'hook-0d51',
  feishu_secret: 'feishu-0d51',
  wecom_key: 'key-0d51',
}

const WRONG = Object.fromEntries(Object.keys(SECRETS).map(name => [name, 'canary-wrong-1']))

interface Post {
  readonly url: URL
  readonly json: Record<string, unknown>
}

interface Group {
  readonly text: (post: Post) => unknown
  readonly refuse: (post: Post) => object | null
  readonly ok: object
}

/** What each group's platform answers, by its published description: success and refusals stand in the body of HTTP 200. */
const GROUPS: Readonly<Record<string, Group>> = {
  dingtalk: {
    ok: { errcode: 0, errmsg: 'ok' },
    text: ({ json }) => (json['text'] as { readonly content: unknown }).content,
    refuse({ url, json }) {
      const { access_token: token, timestamp = '', sign } = Object.fromEntries(url.searchParams)
      if (url.pathname !== '/robot/send' || token !== SECRETS.dingtalk_token)
        return { errcode: 300001, errmsg: 'token is not exist' }
      const digest = createHmac('sha256', SECRETS.dingtalk_secret)
        .update(`${timestamp}\n${SECRETS.dingtalk_secret}`)
        .digest('base64')
      const isFresh = /^\d{13}$/.test(timestamp) && Math.abs(Date.now() - Number(timestamp)) < 3_600_000
      if (!isFresh || sign !== digest) return { errcode: 310000, errmsg: 'sign not match' }
      return json['msgtype'] === 'text' ? null : { errcode: 40035, errmsg: 'invalid parameter' }
    },
  },
  feishu: {
    ok: { StatusCode: 0, StatusMessage: 'success', code: 0, data: {}, msg: 'success' },
    text: ({ json }) => (json['content'] as { readonly text: unknown }).text,
    refuse({ url, json }) {
      if (url.pathname !== `/open-apis/bot/v2/hook/${SECRETS.feishu_hook}`)
        return { code: 19001, data: {}, msg: 'param invalid: incoming webhook access token invalid' }
      const timestamp = String(json['timestamp'])
      const digest = createHmac('sha256', `${timestamp}\n${SECRETS.feishu_secret}`)
        .update('')
        .digest('base64')
      const isFresh = /^\d{10}$/.test(timestamp) && Math.abs(Date.now() / 1000 - Number(timestamp)) < 3600
      if (!isFresh || json['sign'] !== digest)
        return { code: 19021, data: {}, msg: 'sign match fail or timestamp is not within one hour' }
      return json['msg_type'] === 'text' ? null : { code: 9499, data: {}, msg: 'Bad Request' }
    },
  },
  wecom: {
    ok: { errcode: 0, errmsg: 'ok' },
    text: ({ json }) => (json['text'] as { readonly content: unknown }).content,
    refuse({ url, json }) {
      if (url.pathname !== '/cgi-bin/webhook/send' || url.searchParams.get('key') !== SECRETS.wecom_key)
        return { errcode: 93000, errmsg: 'invalid webhook url' }
      const { content } = json['text'] as { readonly content: string }
      return Buffer.byteLength(content) <= 2048
        ? null
        : { errcode: 40058, errmsg: 'content exceed max length' }
    },
  },
}

/** A group's platform. `refusal` is answered to the next posts in the place of what it would say. */
async function startGroup(t: Test, name: string) {
  const group = GROUPS[name]
  if (group === undefined) throw new Error(`no ${name}`)
  const texts: string[] = []
  const rig = { texts, refusals: [] as object[], headers: {}, url: '', asked: 0, held: Promise.resolve() }
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const url = new URL(request.url ?? '', 'http://localhost')
    const post = { url, json: JSON.parse(body) as Post['json'] }
    rig.asked += 1
    await rig.held
    const refusal = rig.refusals.shift() ?? group.refuse(post)
    if (refusal === null) texts.push(String(group.text(post)))
    response.writeHead(200, { 'content-type': 'application/json', ...rig.headers })
    response.end(JSON.stringify(refusal ?? group.ok))
  })
  const port = await listen(t, server)
  rig.url = `http://127.0.0.1:${port}`
  return rig
}

/** The example of docs/gateways/ for a group, at this address. */
function exampleOf(name: string, url: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/gateways', `${name}.yaml`), 'utf8')
  return text
    .replace('"0": ok', '"0": ok\n      "40021": content')
    .replace(/https:\/\/(?:oapi\.dingtalk\.com|open\.feishu\.cn|qyapi\.weixin\.qq\.com)(?=\/)/g, url)
}

async function openRobot(t: Test, name: string, secrets: object = SECRETS) {
  const group = await startGroup(t, name)
  const posts: RobotPost[] = []
  let now = 0
  const robots = createRobots({
    robots: [gatewayOf(exampleOf(name, group.url))],
    secrets: new Map(Object.entries(secrets)),
    clock: { now: () => now },
    textOf: ({ content }) => content.plain ?? '',
    onPost: post => posts.push(post),
    collectMs: 20,
  })
  t.teardown(() => robots.close())
  const tell = (
    texts: readonly string[],
    is: Accepted['is'] = 'stored',
    purpose: NewMessage['purpose'] = 'alarm',
  ) =>
    robots.note(
      texts.map(plain => ({ message: { purpose, content: { plain, params: {} } } }) as Acceptance),
      texts.map(() => ({ is }) as Accepted),
    )
  const pass = (ms: number): void => {
    now += ms
  }
  /** Tells a first alarm, whose post the group holds until it is let answer. */
  const tellHeld = async () => {
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    group.held = promise
    tell(['first'])
    await until(() => group.asked === 1, 'the post')
    return answer
  }
  return { group, posts, robots, tell, tellHeld, pass }
}

for (const name of Object.keys(GROUPS))
  t.test(
    `${name}: the example posts what was collected, signed as published, and by no wrong secret`,
    async t => {
      const { group, posts, tell } = await openRobot(t, name)
      tell(['Freezer "T2": 11.5 > 8', 'door\nopen', 'door\nopen'])
      tell(['door\nopen', '<AT user_id="all">all</at>'])
      tell(['607182'], 'stored', 'code')
      tell(['nobody stored it'], 'over-quota')
      await until(() => posts.length === 1, 'the post')
      t.same(group.texts, ['Freezer "T2": 11.5 > 8\n\ndoor\nopen\n\n‹AT user_id="all">all‹/at>'])
      t.match(posts, [{ robot: name, alarms: 3, isDropped: false, outcome: { is: 'sent' } }])

      const wrong = await openRobot(t, name, WRONG)
      wrong.tell(['door open'])
      await until(() => wrong.posts.length === 1, 'the refusal of a wrong secret')
      t.match(wrong.posts, [{ outcome: { is: 'retry', whose: 'ours' }, isDropped: false }])
      t.notMatch(JSON.stringify(wrong.posts), /canary/)
    },
  )

t.test(
  'a post that was not taken comes again with what came meanwhile, until it is no news any more',
  async t => {
    const { group, posts, tell, tellHeld, pass } = await openRobot(t, 'feishu')
    group.refusals.push({ code: 11232, msg: 'frequency limited' })
    const answer = await tellHeld()
    tell(['second'])
    pass(15 * 60_000 - 1)
    answer()
    await until(() => group.texts.length === 1, 'the post')
    t.same(group.texts, ['first\n\nsecond'])
    group.refusals.push({ code: 11232, msg: 'frequency limited' })
    tell(['third'])
    pass(16 * 60_000)
    await until(() => posts.at(-1)?.isDropped === true, 'it is given up')
    tell(['fourth'])
    await until(() => group.texts.length === 2, 'the next one')
    t.same(group.texts[1], 'fourth')
  },
)

t.test(
  'a robot fails from the first post that its group did not take until it takes one, and rests',
  async t => {
    const { group, posts, robots, tell, pass } = await openRobot(t, 'feishu')
    const REFUSED = { code: 19021, msg: 'sign match fail or timestamp is not within one hour' }
    group.refusals.push(REFUSED, REFUSED)
    tell(['door open'])
    await until(() => posts.length === 1, 'the first refusal')
    const fault = { since: 0, isRefused: true, code: '19021' }
    t.match(robots.status(), [{ robot: 'feishu', fault, until: 20, rests: 1 }])
    pass(20)
    await until(() => posts.length === 2, 'the second')
    t.match(robots.status(), [{ fault, until: 60, rests: 2 }], 'twice as long')
    await until(() => posts.length === 3, 'it takes one')
    t.match(robots.status(), [{ fault: null, rests: 0 }])
  },
)

t.test('a group that asks for time is left alone for so long', async t => {
  const { group, posts, robots, tell } = await openRobot(t, 'feishu')
  group.headers = { 'retry-after': '7' }
  group.refusals.push({ code: 11232, msg: 'frequency limited' })
  tell(['door open'])
  await until(() => posts.length === 1, 'the refusal')
  t.match(robots.status(), [{ until: 7000 }])
})

t.test('what comes during a post is posted before the end', async t => {
  const { group, robots, tell, tellHeld } = await openRobot(t, 'feishu')
  const answer = await tellHeld()
  tell(['second'])
  const closed = robots.close()
  answer()
  await closed
  t.same(group.texts, ['first', 'second'])
})

t.test('a post that is under way when the time for the last one is over is not tried again', async t => {
  const { posts, robots, tellHeld } = await openRobot(t, 'feishu')
  const answer = await tellHeld()
  await robots.close()
  answer()
  await until(() => posts.length > 0, 'what became of it')
  await new Promise(setImmediate)
  t.match(posts, [{ alarms: 1, outcome: { is: 'ambiguous' } }])
  t.match(robots.status(), [{ fault: { isRefused: false } }])
  t.equal(posts.length, 1)
})

t.test('a secret that does not fit the URL is said, and ends no process', async t => {
  const { posts, tell } = await openRobot(t, 'feishu', { ...SECRETS, feishu_hook: '..' })
  tell(['door open'])
  await until(() => posts.length > 0, 'the post')
  t.match(posts, [{ outcome: { is: 'retry', whose: 'ours', code: 'RENDER', reply: /part of its path/ } }])
})

t.test('alarms that are too old are said to be dropped though others are tried again', async t => {
  const { group, posts, tell, pass } = await openRobot(t, 'feishu')
  group.refusals.push({ code: 11232, msg: 'frequency limited' })
  tell(['old'])
  pass(15 * 60_000)
  tell(['new'])
  await until(() => posts.length === 2, 'both posts')
  t.match(posts, [{ isDropped: true }, { isDropped: false }])
  t.same(group.texts, ['new'])
})

t.test('an alarm that the robot refuses for its words is not posted again', async t => {
  const { group, posts, tell } = await openRobot(t, 'feishu')
  group.refusals.push({ code: 40021, msg: 'bad words' })
  tell(Array.from({ length: 250 }, (_, n) => `refused ${n}`))
  await until(() => posts.length === 1, 'the refusal')
  t.match(posts, [{ isDropped: true, outcome: { is: 'rejected' } }])
  const next = Array.from({ length: 250 }, (_, n) => String(n))
  tell(next)
  await until(() => group.texts.length === 1, 'the next ones')
  t.same(group.texts, [`${next.slice(0, 200).join('\n\n')}\n\n… +50`])
})

t.test('a flood of alarms makes one post that is short enough, and says how many more there are', async t => {
  const { group, posts, tell } = await openRobot(t, 'wecom')
  group.refusals.push({ errcode: -1, errmsg: 'busy' })
  // Of 400 characters, and of what is left of 2,000 octets.
  const [long, fitting] = ['警'.repeat(500), 'é'.repeat(398)]
  tell([long, fitting, ...Array.from({ length: 4998 }, (_, n) => `第${n}台设备`)])
  await until(() => posts.length === 2, 'the post, and once more')
  t.same(group.texts, [`${'警'.repeat(399)}…\n\n${fitting}\n\n… +4998`])
  t.match(posts, [{ alarms: 5000 }, { alarms: 5000 }])
})

t.test('an alarm is put into words once for all who are told of it: in those of its mail', async t => {
  const made: string[] = []
  const robots = createRobots({
    robots: [],
    secrets: new Map(),
    clock: { now: () => 0 },
    textOf({ channel, recipient }) {
      made.push(`${channel} ${recipient}`)
      return ''
    },
    onPost: () => {},
  })
  const note = (params: object, ...recipients: readonly string[]) =>
    tellRobots(
      async () => recipients.map(to => (to === '+9' ? { is: 'refused' } : { is: 'stored', superseded: [] })),
      robots,
    )(
      recipients.map(recipient => {
        const channel = recipient.includes('@') ? 'email' : 'sms'
        const message = { purpose: 'alarm', channel, recipient, content: { params, words: 'ours' } }
        return { message } as unknown as Acceptance
      }),
    )
  const params = { device: '7' }
  await note(params, '+1', 'a@example.com', '+2', 'b@example.com')
  t.same(made, ['email a@example.com'])
  await note(params, '+3', 'c@example.com')
  t.equal(made.length, 1, 'nor again for those of its recipients that were stored later')
  await note({ ...params }, '+9', '+1')
  t.same(made.slice(1), ['sms +1'], 'the next alarm, of which nobody gets a mail')
})

t.test('what a robot does not have is refused at its line', async t => {
  const request =
    'channel: chat\n  request:\n    url: https://robot.example.com/\n    json: \'{"text": "{{ text }}"}\''
  t.match(parseGateways(`r:\n  ${request}`), { value: [{ channel: 'chat' }] })
  t.match(inEnglish(parseGateways(`r:\n  ${request.replace('text }}', 'to }}')}`)), {
    fault: 'line 3: r/request says to, which a post to a group does not have',
  })
  t.match(inEnglish(parseGateways(`r:\n  ${request}\n  check: https://robot.example.com/`)), {
    fault: 'line 6: r/check is of an SMS carrier, and not of a robot',
  })
})
