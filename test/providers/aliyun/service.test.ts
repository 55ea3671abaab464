import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { reportOf } from '../../../sandbox/carriers/aliyun.ts'
import { deriveReceiptKey } from '../../../src/providers/receipts.ts'
import { type ServiceRig, SMS_TOKEN, smsBody, startRig, until } from '../../rigs/service.ts'
import { ALONE, startAliyunServer } from './rig.ts'

const PATH = `/receipt/aliyun/${deriveReceiptKey('aliyun', SMS_TOKEN)}`

/** The service with Aliyun alone. */
async function start(t: Test) {
  const aliyun = await startAliyunServer()
  t.teardown(() => aliyun.standIn.close())
  const file = join(t.testdir(), 'templates.json')
  const login = { mainland: { template: 'SMS_1', params: { code: 'code' } } }
  await writeFile(file, JSON.stringify({ aliyun: { 'login-code': login } }))
  const rig = await startRig(t, {
    ...ALONE,
    ALIYUN_API_URL: aliyun.url,
    SMS_TEMPLATES_FILE: file,
    ANSWER_WITHIN_MS: '300',
  })
  return { rig, aliyun }
}

function report(rig: ServiceRig, body: string, path = PATH) {
  return rig.ask(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json;charset=utf-8' },
    body,
  })
}

t.test(
  'a report settles an SMS whose answer was lost; twice is once, and a wrong key is nobody’s',
  async t => {
    const { rig, aliyun } = await start(t)
    aliyun.fault = () => ({ is: 'reset', accept: true })
    await rig.post('sms', smsBody({}, { type: 4 }))
    const message = () => aliyun.standIn.messages[0]
    const ended = () => rig.events().some(each => each['outcome'] === 'ambiguous')
    // Aliyun is asked for some five seconds what became of it.
    await until(ended, 'the end of the attempt')
    const taken = message()
    if (taken === undefined) return t.fail('Aliyun has nothing')
    const body = JSON.stringify([reportOf(taken), reportOf(taken)])
    t.equal((await report(rig, body, PATH.slice(0, -1))).status, 403)
    const answer = await report(rig, body)
    t.equal(answer.status, 200)
    t.match(JSON.parse(answer.text), { code: 0 })
    const final = () => rig.events().find(each => each['event'] === 'final')
    await until(() => final() !== undefined, 'the end')
    t.match(final(), { state: 'sent' })
    t.equal(aliyun.standIn.requests.filter(({ action }) => action === 'SendSms').length, 1)
    for (const garbage of ['', 'x', '{}', '[[[]]]', '[null,1]', `[{"biz_id":"${'9'.repeat(5000)}"}]`])
      t.ok((await report(rig, garbage)).status < 500, garbage.slice(0, 10))
    const page = await (await fetch(`${rig.service().adminUrl}/console/messages`)).text()
    t.match(page, 'delivered')
    const [number, code] = [taken.phoneNumber, /\d{4,6}/.exec(taken.body)?.[0] ?? '?']
    for (const line of rig.log)
      t.notOk(line.includes(number) || line.includes(code), 'nothing of it in the log')
  },
)

t.test('a kind without a template is ours to mend, and nothing of it leaves', async t => {
  const { rig, aliyun } = await start(t)
  const answer = await rig.post('sms', smsBody())
  t.equal(answer.errCode, 0)
  await until(() => rig.events().some(each => each['code'] === 'no-carrier-fits'), 'the attempt')
  t.equal(aliyun.standIn.requests.length, 0)
})
