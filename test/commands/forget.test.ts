import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { listen } from '../rigs/listen.ts'
import { mailBody, startRig, until } from '../rigs/service.ts'
import { command, running } from './rig.ts'

t.test('a recipient is forgotten, however it is written; what waits is not sent', async t => {
  const { env } = await running(t, {
    ADMIN_TOKENS: 'a-password-of-this-test',
    ANSWER_WITHIN_MS: '100',
    SMTP_URL: 'smtp://127.0.0.1:1?ignoreTLS=true',
  })
  for (const to of ['Ann+a@example.com', 'ann@example.com', 'bob@example.com'])
    await command(['send', 'email', '--to', to, '--type', '5', '--local'], env)
  t.match(await command(['forget', 'ann'], env), {
    code: 1,
    err: /neither a mail address nor a phone number/,
  })
  let forgotten = 0
  await until(async () => {
    const { code, out } = await command(['forget', 'ANN@Example.com'], env)
    forgotten += Number(/^(\d+) messages are forgotten; what waited is not sent\.\nBackups/.exec(out)?.[1])
    return code === 0
  }, 'nothing of hers is being sent')
  t.equal(forgotten, 2)
  t.equal((await command(['find', 'ann@example.com'], env)).code, 1)
  t.equal((await command(['find', 'bob@example.com'], env)).code, 0)
  t.match(await command(['forget', 'nobody@example.com'], { ...env, LANG: 'zh_CN.UTF-8' }), {
    code: 0,
    out: /^已删除 0 条消息；等待中的不再发送。\n此前的备份/,
  })
})

t.test('what is being sent just now is left, and that is a failure', async t => {
  let live = 1
  const server = createServer((_request, response) => response.end(JSON.stringify({ messages: 2, live })))
  const port = await listen(t, server)
  const env = { ADMIN_PORT: String(port) }
  const forget = () => command(['forget', 'ann@example.com'], env)
  t.match(await forget(), {
    code: 1,
    out: /^2 messages/,
    err: /^1 are being sent and were left: repeat this/,
  })
  live = 0
  t.match(await forget(), { code: 0, out: /^2 messages/, err: /^$/ })
})

t.test('only operators have somebody forgotten, and the log says which, and not whom', async t => {
  const tokens = { ADMIN_TOKENS: 'sso:a-password-of-a-proxy status/shop:a-token-of-a-program' }
  const rig = await startRig(t, tokens)
  const ask = async (token: string, recipient: unknown, path = 'forget') => {
    const response = await fetch(`${rig.service().adminUrl}/api/v1/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-forwarded-user': 'olga@example.com',
      },
      body: JSON.stringify({ recipient }),
    })
    return { status: response.status, body: (await response.json()) as object }
  }
  await rig.post('email', mailBody({ to: 'Bea+x@example.com' }))
  await rig.post('email', mailBody({ to: 'bob@example.com' }))
  await until(() => rig.events().filter(each => each['event'] === 'final').length === 2, 'both are sent')
  await setTimeout(100)
  t.match(await ask('a-token-of-a-program', 'bea@example.com'), {
    status: 403,
    body: { error: 'no-operator' },
  })
  for (const wrong of ['nobody', undefined, {}, null])
    t.match(await ask('a-password-of-a-proxy', wrong), { status: 400, body: { error: 'invalid' } })
  t.same((await ask('a-password-of-a-proxy', 'bea@example.com')).body, { messages: 1, live: 0 })
  t.match(await ask('a-token-of-a-program', 'bea@example.com', 'messages/search'), { body: { messages: [] } })
  t.match(await ask('a-token-of-a-program', 'bob@example.com', 'messages/search'), {
    body: { messages: [{}] },
  })
  const said = () => rig.events().filter(each => each['did'] === 'forget')
  await until(() => said().length === 1, 'the log has it')
  t.match(said(), [{ event: 'operator', operator: 'sso/olga@example.com', messages: 1 }])
  t.notMatch(JSON.stringify(said()), /bea|b\*/i)

  const open = await startRig(t)
  for (const path of ['/api/v1/forget', '/backup']) {
    const response = await fetch(`${open.service().adminUrl}${path}`, { method: 'POST' })
    t.equal(response.status, 403, 'without a password nobody is an operator')
  }
})
