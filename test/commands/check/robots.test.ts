import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { askForFacts, askForReports } from '../../../src/commands/check.ts'
import { enough } from '../../config/settings.ts'
import { listen } from '../../rigs/listen.ts'
import { command } from '../rig.ts'
import { linesOf } from './lines.ts'

t.test('a test is posted to each group when it is asked for, and what the group refuses is said', async t => {
  const posts: string[] = []
  const group = createServer(async (request, response) => {
    posts.push(await text(request))
    response.end(
      request.url === '/well' ? '{"errcode":0}' : '{"errcode":310000,"errmsg":"keywords not in content"}',
    )
  })
  const url = `http://127.0.0.1:${await listen(t, group)}`
  const robot = (path: string) => ({
    channel: 'chat',
    request: { url: `${url}${path}`, json: '{"text": "{{ text }}"}' },
    answer: { code: '/errcode', words: '/errmsg', codes: { '0': 'ok', '*': 'ours' } },
  })
  const env = { ...enough, SMS_GATEWAYS: JSON.stringify({ dingtalk: robot('/well'), wecom: robot('/') }) }
  t.notMatch((await command(['check'], env)).out, 'took a test')
  t.same(posts, [])
  const { out } = await command(['check', '--robots'], env)
  t.match(out, /ok +dingtalk +took a test: look whether the group shows it/)
  t.match(out, /fail +wecom +310000 keywords not in content/)
  t.same(posts, Array(2).fill('{"text": "This is a test by “check”, and no alarm."}'))
  await command(['check', '--robots'], { ...env, LOCALE: 'zh-TW' })
  t.match(posts.at(-1), '这是 check 命令的测试，不是告警。')
})

t.test('carriers that have reported on none of their SMS are named', async t => {
  const at = (outcome: string, provider: string) => ({ outcome, provider })
  const message = (provider: string, receipt: object | null, finalAt: number | null = 0) => ({
    timeline: [at('sent', 'before'), at('sent', provider), at('unknown', 'after')],
    receipt,
    finalAt,
  })
  const messages = [
    message('aliyun', null),
    message('aliyun', null),
    message('aliyun', null, null),
    message('twilio', {}),
    message('twilio', null),
    message('tencent', null, 1),
  ]
  let said = JSON.stringify({ messages })
  let status = 200
  const asked = new Set<unknown>()
  const service = createServer(({ url }, response) => {
    asked.add(url)
    response.writeHead(url === '/healthz' ? 200 : status).end(said)
  })
  const env = { ADMIN_PORT: String(await listen(t, service)) }
  const io = { env, readFile: () => '', dotenvPath: '/nowhere/.env' }
  const found = async (awaited: readonly string[]) =>
    linesOf(await askForReports(io as never, 600_000, awaited))
  const next = 'switch its delivery reports on, here and at the carrier: docs/sms.md'
  const aliyun = `warn aliyun: has sent no report on the last 2 SMS that it took → ${next}`
  t.same(await found([]), [aliyun])
  const forever = 'sms-newcomers-hour takes everybody whom aliyun sends to for new, for ever'
  t.same(await found(['aliyun', 'twilio']), [aliyun, `warn QUOTAS: ${forever} → ${next}`])
  said = '<html>'
  t.match(linesOf(await askForFacts(io as never, 'en')), [
    /^warn service: http:.* says 200: not JSON → run check with/,
  ])
  status = 404
  t.same(await askForFacts(io as never, 'en'), [], 'one of before has none')
  t.same([...asked], ['/healthz', '/api/v1/messages?channel=sms&state=sent', '/api/v1/causes'])
})
