import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { readSigningKeys, signPayload } from '../../src/webhooks/post.ts'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'
import { SECRET, startReceiver, type ToldEvent } from './receiver.ts'

const OTHER = `whsec_${Buffer.from('another key, which comes after it').toString('base64')}`

t.test(
  'a signature is what the receiver’s own library expects, with each key while one is replaced',
  async t => {
    const body = '{"a":"ü"}'
    const headers = signPayload(readSigningKeys(`${SECRET} ${OTHER}`), 'batch-1', Date.now(), body)
    for (const secret of [SECRET, OTHER]) t.same(new Webhook(secret).verify(body, headers), { a: 'ü' })
    const verifier = new Webhook(SECRET)
    for (const [what, changed, text] of [
      ['body', {}, `${body} `],
      ['id', { 'webhook-id': 'batch-2' }, body],
      ['time', { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) }, body],
    ] as const)
      t.throws(() => verifier.verify(text, { ...headers, ...changed }), what)
  },
)

t.test(
  'other machines are told what became of messages: once, masked, and never what is in them',
  async t => {
    const receiver = await startReceiver(t)
    const rig = await startRig(t, {
      EVENTS_URL: `http://127.0.0.1:${receiver.port}/hook?as=courier`,
      EVENTS_SECRET: SECRET,
      PUBLIC_URL: 'https://courier.example.com',
    })
    rig.smtp.act = ({ step, line }) =>
      step === 'RCPT' && line.includes('bob') ? { is: 'say', reply: '550 5.1.1 no such user' } : undefined
    await rig.post('email', mailBody({ to: 'ann@example.com' }, { type: 5, url: undefined, code: '104729' }))
    await rig.post('email', mailBody({ to: 'bob@example.org' }))
    await rig.post('sms', smsBody())
    const of = (type: string) => receiver.told().filter(each => each.type === type)
    await until(() => of('message.ended').length >= 3, 'three ends')
    const byRecipient = new Map(of('message.ended').map(({ data }) => [data['maskedRecipient'], data]))
    const sent = { state: 'sent', answer: null, code: null, attempts: 1, finalAt: Number }
    t.match(byRecipient.get('a***@example.com'), { ...sent, channel: 'email', provider: 'smtp' })
    t.match(byRecipient.get('b***@example.org'), { state: 'refused', answer: 'recipient', code: /^550/ })
    t.match(byRecipient.get('+86*******8000'), { ...sent, channel: 'sms', provider: 'twilio' })
    const up = of('provider.up').map(({ data }) => data['provider'])
    t.same(up, ['smtp', 'twilio'], 'and how the providers are at the start')
    const ids = receiver.told().map(({ id }) => id)
    t.equal(new Set(ids).size, ids.length, 'each once')
    t.equal(receiver.forged(), 0)
    for (const { body } of receiver.posts)
      for (const secret of ['104729', 'ann@', 'bob@', '13800138000', 'code=abc', 'no such user', 'activate'])
        if (body.includes(secret)) t.fail(`a POST says ${secret}`)
    t.match(await rig.page('/metrics'), /event_posts_total\{result="delivered"\} [1-9]/)
    t.match(await rig.page('/console'), 'Events waiting')
    t.notMatch(rig.log.join(''), 'as=courier', 'the URL may hold a key: it is in no log')
  },
)

t.test('a receiver that fails gets the same POST again, and one that says 410 none', async t => {
  const receiver = await startReceiver(t)
  const rig = await startRig(t, {
    EVENTS_URL: `http://127.0.0.1:${receiver.port}/hook`,
    EVENTS_SECRET: SECRET,
  })
  await until(() => receiver.told().length >= 2, 'the providers')
  const faults: readonly ((response: Parameters<typeof receiver.act>[0]) => void)[] = [
    response => response.writeHead(500).end('x'),
    response => response.destroy(),
    response => response.writeHead(302, { location: `http://127.0.0.1:${receiver.port}/elsewhere` }).end(),
  ]
  let next = 0
  const before = receiver.posts.length
  receiver.act = response =>
    (faults[next++] ?? (last => last.writeHead(200).end('x'.repeat(400_000))))(response)
  await rig.post('email', mailBody({ to: 'ann@example.com' }))
  await until(() => receiver.told().length >= 3, 'told after all')
  const tried = receiver.posts.slice(before)
  t.equal(tried.length, 4, 'no redirect was followed')
  t.equal(new Set(tried.map(({ id }) => id)).size, 1, 'by the same id')
  t.equal(new Set(tried.map(({ body }) => body)).size, 1)
  const log = rig.events().filter(each => each['event'] === 'webhooks')
  t.same([...new Set(log.map(({ reason }) => String(reason)))].sort().slice(0, 3), [
    'UND_ERR_SOCKET',
    'http-302',
    'http-500',
  ])

  receiver.act = response => response.writeHead(410).end()
  await rig.post('email', mailBody({ to: 'bob@example.com' }))
  const gone = () => rig.events().some(each => each['event'] === 'webhooks' && each['result'] === 'gone')
  await until(gone, 'it was gone')
  const posts = receiver.posts.length
  await rig.post('email', mailBody({ to: 'eve@example.com' }))
  t.match(await rig.page('/console'), 'EVENTS_URL answered 410')
  receiver.act = response => response.writeHead(204).end()
  await new Promise(resolve => setTimeout(resolve, 1200))
  t.equal(receiver.posts.length, posts, 'nothing more')
  await rig.restart()
  const ends = (): readonly ToldEvent[] => receiver.told().filter(({ type }) => type === 'message.ended')
  await until(() => ends().length >= 3, 'after a start, all of it')
})
