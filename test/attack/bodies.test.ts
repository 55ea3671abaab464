import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import t from 'tap'
import { mailBody, NO_QUOTAS, shown, smsBody, startRig } from '../rigs/service.ts'
import { readMail } from '../words/rendering.ts'

t.test('no Content-Type, an empty one and a blank one all mean JSON', async t => {
  const rig = await startRig(t)
  const { hostname, port } = new URL(rig.service().publicUrl)
  const body = JSON.stringify(smsBody())
  for (const type of ['', 'Content-Type:\r\n', 'Content-Type: \t\r\n']) {
    const socket = connect({ host: hostname, port: Number(port), ca: rig.ca })
    socket.write(
      `POST ${rig.path('sms')} HTTP/1.1\r\nHost: x\r\n${type}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    t.match(await text(socket), /^HTTP\/1\.1 200 [\s\S]*"err_code":0/, shown(type))
  }
})

t.test('an SMS is a text that a phone shows, whatever it begins with and however long it is', async t => {
  const rig = await startRig(t, NO_QUOTAS)
  const plain = (text: string) => rig.post('sms', smsBody({ plain_sms: text }, { type: 99 }))
  const headers = [
    '\x05\x00\x03\xcc\x02\x01', // the first of two parts
    '\x06\x05\x04\x0b\x84\x23\xf0', // WAP push, to its port
    '\x1b(', // GSM's escape to its second table
    'x\f', // the same table's page break
  ]
  for (const header of headers) {
    t.equal((await plain(`${header}Example`)).errCode, 4002001, shown(header))
    t.equal((await rig.post('sms', smsBody({}, { code: `${header}1234` }))).errCode, 4002001, shown(header))
  }
  t.equal((await plain('x'.repeat(1531))).errCode, 4002001, 'more than ten segments')
  t.equal(rig.twilio.messages.length, 0)

  // Our words put the signature in front, unless the text has it.
  for (const command of ['//SCKL15811581 Example', '  //VVM:STATUS:st=R;s=Example', '//brew:Example'])
    t.equal((await plain(command)).errCode, 0, command)
  t.same(
    rig.twilio.messages.map(({ body }) => body),
    ['/ /SCKL15811581 Example', '/ /VVM:STATUS:st=R;s=Example', '/ /brew:Example'],
  )
})

t.test(
  'a name stays in its place: nothing is drawn over other lines, or pushed to a line of its own',
  async t => {
    const rig = await startRig(t)
    const wide = ['\u3000', '\u00a0', ' ', '\u3164', '\u2800', '\u115f\u1160']
      .map(blank => blank.repeat(60))
      .join('')
    const params = { type: 8, url: undefined, username: `Z${'\u0489'.repeat(300)}`, corporation: `A${wide}B` }
    t.equal((await rig.post('email', mailBody({ subject: `A${wide}B` }, params))).errCode, 0)
    const mail = await readMail(rig.smtp.mails.at(-1)?.data ?? Buffer.alloc(0))
    t.match(mail.text, /Z\u0489{8}(?!\u0489)/u)
    t.match(mail.text, 'A B')
    t.equal(mail.subject, 'A B')
  },
)
