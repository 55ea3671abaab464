import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { mailBody, smsBody, startRig } from '../rigs/service.ts'

t.test('content that was damaged or exchanged on disk is said everywhere, and how much of it', async t => {
  const rig = await startRig(t)
  rig.smtp.act = () => ({ is: 'say', reply: '451 4.3.0 later' })
  rig.twilio.fault = () => ({ is: 'answer', status: 503, body: '{}' })
  for (const to of ['ann@example.com', 'bob@example.com', 'cem@example.com'])
    await rig.post('email', mailBody({ to }))
  await rig.post('sms', smsBody())
  await rig.service().close()

  const db = new DatabaseSync(`${rig.directory}/outbox.db`)
  const ids = db
    .prepare("SELECT id FROM messages WHERE channel = 'email' ORDER BY seq")
    .all()
    .map(row => String(row['id']))
  const [swapped = '', damaged = '', whole = ''] = ids
  db.prepare('UPDATE messages SET payload = (SELECT payload FROM messages WHERE id = ?) WHERE id = ?').run(
    whole,
    swapped,
  )
  db.prepare('UPDATE messages SET payload = zeroblob(80) WHERE id = ?').run(damaged)
  db.exec('UPDATE messages SET ready = 1, due_at = 0')
  db.close()
  rig.smtp.act = undefined
  await rig.restart()

  const isOver = async () => JSON.parse(await rig.page('/api/v1/counts')).backlog.email === 0
  while (!(await isOver())) await new Promise(resolve => setTimeout(resolve, 50))

  t.equal(rig.smtp.mails.length, 1, 'the one that is whole')
  const lines = rig.events().filter(({ event }) => event === 'unreadable')
  t.match(lines, [{ level: 50, channel: 'email', kind: 'registration-activation' }, { level: 50 }])
  t.same(new Set(lines.map(({ id }) => id)), new Set([swapped, damaged]), 'each by its id')
  t.match(await rig.page('/metrics'), 'callback_courier_unreadable_total{channel="email"} 2')
  t.match(
    await rig.page('/console'),
    /Failing:<\/strong> Messages that waited could not be read: 2 since the start/,
  )
  for (const id of [swapped, damaged]) {
    const page = await rig.page(`/console/messages/${id}`)
    t.match(page, 'it was damaged or exchanged in the store')
    t.notMatch(page, 'The provider refuses')
    t.match(JSON.parse(await rig.page(`/api/v1/messages/${id}`)), { state: 'refused', answer: 'content' })
  }
})
