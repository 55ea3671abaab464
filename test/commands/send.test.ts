import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { command, running, standInsFor } from './rig.ts'

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
  const argv = [
    'send',
    'sms',
    '--to',
    '13800138001',
    '--area-code',
    '0086',
    '--type',
    '77',
    '--plain',
    'Good day',
  ]
  t.equal((await command(argv, env)).code, 0)
  t.same(
    standIns.sms().map(({ to }) => to),
    ['+8613800138000', '+8613800138001'],
  )
  t.match(standIns.sms()[1]?.body, 'Good day')
})

t.test('only validates, here on this machine', async t => {
  const { standIns, env } = await running(t)
  const { code, out } = await command(['send', 'email', '--validate-only', '--local'], env)
  t.equal(code, 0)
  t.match(out, /^validate {2}HTTP 200 {2}err_code 0 {2}\d+ ms\n$/)
  t.equal(standIns.mails().length, 0)
})

t.test('says what went wrong', async t => {
  const { env } = await running(t)
  const wrong = await command(['send', 'email', '--to', 'a@example.com'], {
    ...env,
    EMAIL_TOKEN: 'nKw7ZtQv2mYr9LsXbHd4',
  })
  t.equal(wrong.code, 1)
  t.match(wrong.out, /^validate {2}HTTP 403 {2}err_code 4031003/)
  const refused = await command(['send', 'email', '--to', 'nobody'], env)
  t.equal(refused.code, 1)
  t.match(refused.out, /send {6}HTTP 400 {2}err_code 4002012/)
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

t.test('err_code 0 with another status than 200 is no success', async t => {
  const { env } = await standInsFor(t)
  const server = createServer((_request, response) => {
    response.writeHead(500, { 'content-type': 'application/json' }).end('{"err_code":0,"err_msg":""}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, out } = await command(['send', 'email', '--validate-only', '--base', base], env)
  t.match(out, /^validate {2}HTTP 500 {2}err_code 0/)
  t.equal(code, 1)
})

t.test('a file that an option names and that is not there is said in a line', async t => {
  const { env } = await standInsFor(t)
  const { code, err } = await command(['send', 'email', '--to', 'a@example.com', '--ca', '/no/such.pem'], env)
  t.equal(code, 1)
  t.match(err, /^ENOENT: .*'\/no\/such\.pem'\n$/)
})

t.test('a wrong command line sends nothing', async t => {
  for (const [argv, why] of [
    [['send'], 'something is missing'],
    [['send', 'fax', '--to', 'x'], 'say email or sms'],
    [['send', 'email'], '--to is missing'],
    [['send', 'email', '--to', 'a@example.com', '--type', '4'], 'type 4 is not known'],
    [['send', 'email', '--to', 'a@example.com', '--param', 'code'], 'write it as KEY=VALUE'],
  ] as const) {
    const { code, err } = await command(argv)
    t.equal(code, 2)
    t.match(err, why)
  }
})
