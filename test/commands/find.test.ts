import { createServer } from 'node:http'
import t from 'tap'
import { inZone } from '../rigs/in-zone.ts'
import { listen } from '../rigs/listen.ts'
import { command, running, standInsFor } from './rig.ts'

t.test('one command says what became of a recipient’s messages', async t => {
  inZone(t, 'UTC')
  const { env, close } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  for (const [channel, to, type] of [
    ['email', 'ann@example.com', '5'],
    ['sms', '+8613800138000', '4'],
  ] as const)
    t.equal((await command(['send', channel, '--to', to, '--type', type, '--local'], env)).code, 0)

  const { code, out } = await command(['find', 'ann@example.com'], env)
  t.equal(code, 0)
  t.match(out, /^[-\d]+ [:\d]+ UTC {2}email activation-code {2}a\*\*\*@example\.com {2}sent\n/)
  t.match(out, /\n {2}smtp took it .* after it came, at .*\n {2}→ .*junk folder/)
  t.match(out, /\n {2}id [0-9a-f]{32}\n {4}.* smtp {2}sent {2}250 /)
  t.notMatch(out, 'ann@')
  const chinese = { ...env, LANG: 'zh_CN.UTF-8' }
  const inChinese = (await command(['find', 'ann@example.com'], chinese)).out
  t.match(
    inChinese,
    /UTC {2}邮件 激活验证码（activation-code） {2}a\*\*\*@example\.com {2}已发送\n {2}smtp 于 .* 接收，/,
  )
  const there = { ...env, TZ: 'Asia/Shanghai' }
  t.match(
    (await command(['find', 'ann@example.com'], there)).out,
    /^[-\d]+ [:\d]+ \+08:00 {2}email .*\n.* at .*\+08:00/,
  )
  t.match((await command(['find', 'ann@example.com', '--json'], there)).out, /"what": "smtp took it .* UTC/)

  const absent = await command(['find', 'nobody@example.com'], env)
  t.equal(absent.code, 1)
  t.match(absent.out, /No message to this recipient.*\n {2}email\n {4}The newest message to anybody came at/s)
  t.match(await command(['find', 'nobody'], env), {
    code: 1,
    err: 'That is neither a mail address nor a phone number in full (+86…).\n',
  })
  const stranger = { ...env, ADMIN_TOKENS: 'another-password-of-nobody' }
  t.match(await command(['find', 'ann@example.com'], stranger), { code: 1, err: /says 401/ })
  t.match(await command(['find'], env), { code: 2, err: /something is missing/ })
  t.match((await command(['find', 'nobody@example.com'], chinese)).out, /^没有发给.*\n {2}邮件\n/)
  await close()
  t.match(await command(['find', 'ann@example.com'], env), { code: 1, err: /nobody answers at/ })
  t.match(await command(['find', 'ann@example.com'], chinese), { code: 1, err: /无响应：请启动服务/ })
})

t.test(
  'a screen shows ten messages and a file all; an operator’s password is taken before a program’s',
  async t => {
    const at = Date.now()
    const messages = Array.from({ length: 12 }, (_, n) => ({
      id: `${n}`.padStart(32, '0'),
      channel: 'sms',
      kind: 'login-code',
      maskedRecipient: '+86*******8000',
      state: 'sending',
      arrivedAt: at,
      timeline: [],
    }))
    const asked: unknown[] = []
    const server = createServer(({ url, headers }, response) => {
      if (url?.startsWith('/api/') === true) asked.push(headers.authorization)
      response.end(JSON.stringify(url?.endsWith('/search') === true ? { messages } : { providers: [] }))
    })
    const port = await listen(t, server)
    const env = { ADMIN_PORT: String(port) }
    const find = (tokens: string, ...more: string[]) =>
      command(['find', 'ann@example.com', ...more], { ...env, ADMIN_TOKENS: tokens })
    const program = 'status/shop:a-token-of-a-program'
    const { code, out } = await find(`${program} ann:a-password-of-this-test`)
    t.equal(code, 0)
    t.equal(out.match(/^ {2}id /gm)?.length, 10)
    const { messages: all } = JSON.parse((await find(program, '--json')).out) as { messages: object[] }
    t.equal(all.length, 12)
    t.match(all[11], {
      id: `${'0'.repeat(30)}11`,
      arrivedAt: new Date(at).toISOString(),
      what: /./,
      next: /./,
    })
    await command(['find', 'ann@example.com'], env)
    t.same(asked, [
      ...Array<string>(2).fill('Bearer a-password-of-this-test'),
      ...Array<string>(2).fill('Bearer a-token-of-a-program'),
      undefined,
      undefined,
    ])
  },
)

t.test('a service that cannot store says so before anything else', async t => {
  const { env } = await standInsFor(t)
  let search = ''
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/search') === true) request.on('data', data => (search += String(data)))
    response.writeHead(request.url === '/readyz' ? 503 : 200, { 'content-type': 'application/json' })
    response.end(request.url?.endsWith('/calls') === true ? '{"channels":[]}' : '{"messages":[]}')
  })
  const port = String(await listen(t, server))
  inZone(t, 'UTC')
  const day = ['--since', '2026-10-25', '--until', '2026-10-25']
  const asked = { ...env, ADMIN_PORT: port }
  const { code, out } = await command(['find', 'ann@example.com', ...day], asked, 'TZ=Europe/Berlin')
  t.equal(code, 1)
  t.match(out, /^The service accepts no callbacks now: .*503.*\n\nNo message to this recipient/)
  const json = await command(['find', 'ann@example.com', '--json'], asked)
  t.match(json.err, /^The service accepts no callbacks now: /)
  t.same(JSON.parse(json.out), { messages: [], calls: [] })
  const [since, before] = ['2026-10-24T22:00Z', '2026-10-25T23:00Z'].map(Date.parse)
  t.match(
    JSON.parse(search.replace(/}{.*/, '}')),
    { since, before },
    'a day on which clocks change has 25 hours',
  )

  const { timeout } = AbortSignal
  const late = AbortSignal.abort(new DOMException('late', 'TimeoutError'))
  t.intercept(AbortSignal, 'timeout', {
    value: (ms: number) => (ms === 30_000 ? late : timeout.call(AbortSignal, ms)),
  })
  const silent = { code: 1, err: /^the running service does not answer: / }
  t.match(await command(['find', 'ann@example.com'], asked), silent)
})
