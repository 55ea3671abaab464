import t from 'tap'
import { every, openUnapproved, openUnreachable } from './scopes.ts'
import { pause } from './stage.ts'

t.test('a template under review, an SMS of it every ten seconds: login codes do not notice', async t => {
  const { sendGood, sendRefused, judge, tried } = await openUnapproved(t)
  await Promise.all([every(10_000, 70_000, sendRefused), every(1500, 70_000, sendGood)])
  await judge(t)
  t.comment(`the template was tried ${tried()} times`)
  t.ok(tried() < 20, `${tried()} times`)
})

t.test(
  'five of ten numbers a second cannot be reached: the others do not notice, nor do those after them',
  async t => {
    const { sendGood, sendRefused, judge, disturbed } = await openUnreachable(t, 21612)
    await Promise.all([every(200, 40_000, sendRefused), every(200, 40_000, sendGood)])
    for (let n = 0; n < 10; n += 1) sendRefused()
    await every(5000, 30_000, sendGood)
    await judge(t)
    t.notOk(disturbed.events().some(({ event }) => event === 'breaker'))
  },
)

t.test('a template under review, an SMS of it every 45 seconds: login codes do not notice', async t => {
  const { sendGood, sendRefused, judge } = await openUnapproved(t)
  await Promise.all([every(45_000, 240_000, sendRefused), every(3000, 240_000, sendGood)])
  await judge(t)
})

t.test('a login code two minutes after a single refused one does not notice it', async t => {
  const { sendGood, sendRefused, judge } = await openUnapproved(t)
  sendRefused()
  await pause(120_000)
  await every(7000, 35_000, sendGood)
  await judge(t)
})
