import t from 'tap'
import { readSmtpUrl } from '../../../src/providers/smtp/settings.ts'

await t.test('host, port, login and what is asked of TLS', async t => {
  const read = (url: string): unknown => readSmtpUrl(url)
  t.strictSame(read('smtp://mail.example.com'), {
    host: 'mail.example.com',
    port: 587,
    secure: false,
    startTls: 'required',
  })
  t.strictSame(read('smtps://user%40example.com:p%23%2F%25@mail.example.com/'), {
    host: 'mail.example.com',
    port: 465,
    secure: true,
    startTls: 'required',
    auth: { user: 'user@example.com', pass: 'p#/%' },
  })
  t.match(read('smtp://[::1]:2525'), { host: /^::1$/, port: 2525 })
  t.match(read('smtp://a.example:25?requireTLS=false'), { startTls: 'offered' })
  t.match(read('smtp://a.example:25?ignoreTLS=true'), { startTls: 'off' })
  t.match(read('smtp://a.example:25?ignoreTLS=true&requireTLS=true'), { startTls: 'off' })
  t.match(read('smtp://a.example:25/?requireTLS=true'), { startTls: 'required' })
})

await t.test('what is wrong is said without the password', async t => {
  for (const [url, words] of [
    ['mail.example.com', /must look like/],
    ['http://u:canary@mail.example.com', /must look like/],
    ['smtp://', /must look like|no host/],
    ['smtp://u:can/ary@mail.example.com', /percent-encoded|must look like/],
    ['smtp://u:can#ary@mail.example.com', /percent-encoded|must look like/],
    ['smtp://u:canary@mail.example.com/x', /path/],
    ['smtp://u:canary@mail.example.com#x', /#/],
    ['smtp://u:canary%@mail.example.com', /%25/],
    ['smtp://u:canary@mail.example.com?pool=true', /knows only/],
    ['smtp://u:canary@mail.example.com?tls.rejectUnauthorized=false', /knows only/],
    ['smtp://u:canary@mail.example.com?requireTLS=no', /neither true nor false/],
  ] as const) {
    const read = readSmtpUrl(url)
    t.match(read, { wrong: words }, url)
    t.notMatch(JSON.stringify(read), /canary|ary@/)
  }
})
