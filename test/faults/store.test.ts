import t from 'tap'
import { openStage } from './stage.ts'

t.test('a full backlog: 503 while it lasts, what was taken is sent, and it goes on', async t => {
  const stage = await openStage(t, { ANSWER_WITHIN_MS: '200', MAX_BACKLOG: '100' })
  const { port } = new URL(stage.settings['SMTP_URL'] ?? '')
  await stage.smtp.close()
  const answers = await stage.driver.load(stage.callbacks('email', 150), 20)
  t.equal(answers.filter(each => each.errCode === 0).length, 100)
  const refused = answers.filter(each => each.errCode !== 0)
  t.equal(refused.length, 50)
  for (const { status, errCode, retryAfter } of refused)
    t.same({ status, errCode, retryAfter }, { status: 503, errCode: 5031002, retryAfter: '5' })
  const said = stage.log
    .map(each => JSON.parse(each) as Record<string, unknown>)
    .find(({ event }) => event === 'store')
  t.match(said, {
    doing: 'accept',
    err: { type: 'BacklogFull', message: '100 messages are waiting already' },
  })
  // The platform says again what was taken: that needs no room.
  const again = await stage.driver.post(
    (answers.find(each => each.errCode === 0) ?? answers[0])?.callback as never,
  )
  t.equal(again.errCode, 0)
  await stage.smtp.listen(Number(port))
  await stage.atRest()
  const [after] = await stage.driver.load(stage.callbacks('email', 1), 1)
  t.equal(after?.errCode, 0)
  await stage.atRest()
  const found = await stage.finish()
  t.match(found, { answered: 101, delivered: 101, lost: 0, duplicated: 0 })
})
