import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { smsBody, startRig, until } from '../rigs/service.ts'

t.test('new numbers are shown from the first SMS, and known by it where no reports come', async t => {
  for (const [PUBLIC_URL, known] of [
    ['', 1],
    ['https://courier.example.com', 0],
  ] as const) {
    const rig = await startRig(t, { PUBLIC_URL, QUOTAS: 'sms-newcomers-hour=2' })
    const post = async (to: string) => (await rig.post('sms', smsBody({ to }))).errCode
    t.equal(await post('13800138000'), 0)
    await until(() => rig.twilio.messages.length === 1, 'it is sent')
    const page = await rig.page('/console')
    t.match(page, '<dt>New numbers in an hour</dt><dd>+86: 1 at most<br></dd>')
    t.equal(await post('13800138001'), 0)
    t.equal(await post('13800138002'), 4291001)
    await rig.service().close()
    const db = new DatabaseSync(join(rig.directory, 'outbox.db'))
    const rows = db.prepare('SELECT recipient_hash FROM known_numbers').all()
    db.close()
    t.equal(rows.length > 0, known > 0, `PUBLIC_URL=${PUBLIC_URL}`)
    t.notMatch(JSON.stringify(rows), '13800138', 'by a hash')
  }
})
