import t from 'tap'
import { every, openUnapproved } from './scopes.ts'
import { pause } from './stage.ts'

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
