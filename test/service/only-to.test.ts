import t from 'tap'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'

const code = (to: string, value = '482913') => mailBody({ to }, { type: 5, url: null, code: value })

t.test('a trial reaches nobody else, says so, and leaves nothing behind', async t => {
  const rig = await startRig(t, { QUOTAS: 'recipient-10m=1' })
  const isHeld = async (recipient: string) => {
    const asked = await fetch(`${rig.service().adminUrl}/api/v1/messages/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ recipient }),
    })
    const { messages } = (await asked.json()) as { readonly messages: readonly { readonly state: string }[] }
    return messages.length > 0 && messages.every(({ state }) => state === 'held')
  }
  rig.smtp.act = ({ step }) => (step === 'RCPT' ? { is: 'say', reply: '451 4.3.0 later' } : undefined)
  t.equal((await rig.post('email', code('old@example.com'))).errCode, 0, 'it waits from before')
  rig.smtp.act = undefined
  await rig.restart({ ONLY_TO: '+8613800138000 ann@example.com' })
  await until(() => isHeld('old@example.com'), 'what waited is held')

  const ten = ['ANN+x@Example.com', ...Array.from({ length: 9 }, (_, n) => `other${n}@example.com`)]
  t.match(await rig.post('email', code(ten.join())), { status: 200, errCode: 0, errMsg: '' })
  for (const to of ['13800138000', '13800138001'])
    t.equal((await rig.post('sms', smsBody({ to }))).errCode, 0)
  t.equal((await rig.post('email', code('other1@example.com'))).errCode, 0, 'a duplicate')
  for (const value of ['1', '2'])
    t.equal((await rig.post('email', code('bob@example.com', value))).errCode, 0, 'no quota counts it')
  t.equal((await rig.post('email', code('eve@'))).errCode, 4002012, 'what is wrong is wrong in a trial, too')
  await until(() => rig.smtp.mails.length === 1 && rig.twilio.messages.length === 1, 'the named ones')
  t.same(rig.smtp.mails[0]?.to, ['ANN+x@example.com'])
  t.equal(rig.twilio.messages[0]?.to, '+8613800138000')
  for (const other of ['other8@example.com', 'bob@example.com', '+8613800138001'])
    t.ok(await isHeld(other), other)

  t.match(
    await rig.page('/console'),
    /<ul class="causes"[^>]*><li class="fail"><strong>Failing:<\/strong> ONLY_TO is set/,
  )
  const metrics = await rig.page('/metrics')
  t.match(metrics, 'callback_courier_only_to 2\n')
  t.match(metrics, /messages_total\{channel="email",kind="activation-code",state="held"\} 12\n/)
  t.match(metrics, 'callback_courier_none_arrives{channel="email",provider=""} 0\n')
  t.equal(
    rig.log.filter(line => line.includes('ONLY_TO is set, with 2 entries')).length,
    1,
    'each start says so',
  )
  t.notMatch(rig.log.join(''), /other1@|bob@|\+8613800138/, 'and names nobody')

  await rig.restart()
  t.equal((await rig.post('email', code('other1@example.com'))).errCode, 0)
  await until(() => rig.smtp.mails.length === 2, 'after the trial its repetition is sent')
  t.match(await rig.page('/metrics'), 'callback_courier_only_to 0\n')
})
