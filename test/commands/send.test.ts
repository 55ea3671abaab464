import { createServer } from 'node:http'
import { rootCertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import { findMarkedParam, markValue } from '../../src/commands/send.ts'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { restoreTrust } from '../rigs/authorities.ts'
import { listen } from '../rigs/listen.ts'
import { command, type Env, running, standInsFor } from './rig.ts'

t.test('plays the platform: validates, then sends a real mail', async t => {
  const { standIns, env } = await running(t, { POST_SIGNATURE: 'required' })
  const argv = ['send', 'email', '--to', 'lin@example.com', '--type', '3', '--param', 'code=778899']
  const { code, out, err } = await command(argv, env)
  t.equal(err, '')
  t.match(out, /^validate {2}HTTP 200 {2}err_code 0 {2}\d+ ms\nsend {6}HTTP 200 {2}err_code 0 {2}\d+ ms\n$/)
  t.equal(code, 0)
  const [mail] = standIns.mails()
  t.match(mail?.raw.toString(), '778899')
  t.match(mail?.raw.toString(), /^To: lin@example\.com/m)

  const unsigned = await command([...argv, '--unsigned'], env)
  t.equal(unsigned.code, 1, 'the service wants a signature')
  t.match(unsigned.out, /send {6}HTTP 403 {2}err_code 4031003/)
})

t.test('sends an SMS, by the name of its type, and plain text of a type that nobody knows', async t => {
  const { standIns, env } = await running(t)
  const named = await command(['send', 'sms', '--to', '+8613800138000', '--type', 'login-code'], env)
  t.equal(named.code, 0, named.out)
  const argv = [...'send sms --to 13800138001 --area-code 0086 --type 77 --plain'.split(' '), 'Good day']
  t.equal((await command(argv, env)).code, 0)
  t.same(
    standIns.sms().map(({ to }) => to),
    ['+8613800138000', '+8613800138001'],
  )
  await command(['send', 'email', '--to', 'lin@example.com'], env)
  t.match(standIns.mails()[0]?.raw.toString(), /^Subject: Activate your account/m)
  t.match(standIns.sms()[1]?.body, 'Good day')
})

t.test('only validates, here on this machine', async t => {
  const { standIns, env } = await running(t)
  const { code, out } = await command(['send', 'email', '--validate-only', '--local'], env)
  t.equal(code, 0)
  t.match(out, /^validate {2}HTTP 200 {2}err_code 0 {2}\d+ ms\n$/)
  t.equal(standIns.mails().length, 0)
})

t.test('trusts the authority of TLS_CA_FILE, and names it where a certificate is refused', async t => {
  restoreTrust(t)
  const { standIns, env } = await running(t)
  setDefaultCACertificates([...rootCertificates])
  const argv = ['send', 'email', '--validate-only']
  t.match(
    (await command(argv, env)).out,
    /^validate {2}no answer: .*; TLS_CA_FILE names an authority of your own/,
  )
  for (const any of ['--local', '--insecure']) t.equal((await command([...argv, any], env)).code, 0, any)
  t.equal((await command(argv, { ...env, TLS_CA_FILE: standIns.certFile })).code, 0)
})

t.test('says what went wrong', async t => {
  const { env } = await running(t)
  const wrong = await command(['send', 'email', '--to', 'a@example.com'], {
    ...env,
    EMAIL_TOKEN: 'nKw7ZtQv2mYr9LsXbHd4',
  })
  t.equal(wrong.code, 1)
  t.match(wrong.out, /^validate {2}HTTP 403 {2}err_code 4031003/)
  const refused = await command(['send', 'email', '--to', 'nobody'], { ...env, LANG: 'zh_CN.UTF-8' })
  t.equal(refused.code, 1)
  t.match(
    refused.out,
    /发送 {2}HTTP 400 {2}err_code 4002012 {2}\d+ 毫秒 {2}邮件收件人不对（\/to: not an address）\n$/,
  )
  const nobody = await command(
    ['send', 'email', '--to', 'a@example.com', '--base', 'https://127.0.0.1:9'],
    env,
  )
  t.equal(nobody.code, 1)
  t.match(nobody.out, /^validate {2}no answer: .*ECONNREFUSED/)
  const { SMS_TOKEN: _, ...mailOnly } = env
  t.match(
    (await command(['send', 'sms', '--to', '+8613800138000'], mailOnly)).err,
    'sms is off: SMS_TOKEN is not set',
  )
})

t.test('err_code 0 with another status than 200 is no success, nor is an answer without one', async t => {
  const { env } = await standInsFor(t)
  const bodies = ['{"err_code":0,"err_msg":""}', `gateway ${'x'.repeat(300)}`]
  const server = createServer((_request, response) => {
    response.writeHead(500, { 'content-type': 'application/json' }).end(bodies.shift())
  })
  const port = await listen(t, server)
  const base = `http://127.0.0.1:${port}`
  const { code, out } = await command(['send', 'email', '--validate-only', '--base', base], env)
  t.match(out, /^validate {2}HTTP 500 {2}err_code 0/)
  t.equal(code, 1)
  const other = await command(['send', 'email', '--validate-only', '--base', base], env)
  t.match(other.out, /^validate {2}HTTP 500 {2}no err_code in: gateway x{192} {2}\d+ ms\n$/)
  t.equal(other.code, 1)
})

t.test('each option stands in the body, and the base is the one that was named', async t => {
  const { env } = await standInsFor(t)
  const bodies: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    const at = request.url?.replace(/[0-9a-f]{32}.*/, '')
    request.on('data', data => bodies.push({ at, ...(JSON.parse(String(data)) as object) }))
    response.end('{"err_code":0,"err_msg":""}')
  })
  const port = await listen(t, server)
  const here = `http://127.0.0.1:${port}`
  const gone = 'https://127.0.0.1:9'
  const send = async (line: string, given: Env = {}) => {
    const { code, out } = await command(['send', ...line.split(' ')], { ...env, ...given })
    t.equal(code, 0, out)
    t.equal(out.includes('\nONLY_TO is set: '), 'ONLY_TO' in given)
    return bodies.pop()
  }
  const asked = { PUBLIC_URL: gone, ONLY_TO: 'ann@example.com' }
  const mail = await send(
    `email --to a@b.c --type 5 --subject Hi --plain Good --param code=a=b --param x= --base ${here}/`,
    asked,
  )
  t.match(mail, {
    at: /^\/callback\/100fa4\/$/,
    to: 'a@b.c',
    subject: 'Hi',
    plain_email: 'Good',
    email_param: { type: 5, code: 'a=b', x: '' },
  })
  t.match(await send(`email --to a@b.c --type activation-code --base ${here}`), {
    subject: 'Your activation code',
    plain_email: null,
    email_param: { type: 5, code: /^\d{6}$/ },
  })
  t.match(await send(`email --to a@b.c --type 5 --base ${here}`, { LOCALE: 'zh-CN' }), {
    subject: '您的激活验证码',
  })
  t.match(
    await send(`sms --to 1 --type 77 --plain Good --area-code 0086 --plugin p1 --local --base ${gone}`, {
      TLS: 'off',
      PORT: String(port),
      PUBLIC_URL: gone,
    }),
    { to: '1', area_code: '0086', plain_sms: 'Good', plugin_id: 'p1', sms_param: { type: '77' } },
  )
})

t.test('a sample is marked in the code, else in its link, else in a name: no two are the same', async t => {
  t.same(
    callbackKinds.map(kind => findMarkedParam(kind)).filter(name => name === ''),
    [],
  )
  const sample = { params: { productName: 'p', url: 'https://a.example', code: '1' } }
  const kind = { sample, linkParam: 'url' } as never
  t.equal(findMarkedParam(kind), 'code')
  const { code: _, ...codeless } = sample.params
  t.equal(findMarkedParam({ sample: { params: codeless }, linkParam: 'url' } as never), 'url')
  t.equal(findMarkedParam({ sample: { params: { a: '1', productName: 'p' } } } as never), 'productName')
  t.equal(findMarkedParam({ sample: { params: { a: '1' } } } as never), 'a')
  for (const [name, value, marked] of [
    ['code', '1', '654321'],
    ['name', 'Door', 'Door 654321'],
    ['url', 'https://a.example/x', 'https://a.example/x?t=654321'],
    ['url', 'https://a.example/x?b=1', 'https://a.example/x?b=1&t=654321'],
  ] as const)
    t.equal(markValue(name, value, '654321'), marked)
})
