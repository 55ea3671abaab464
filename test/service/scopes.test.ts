import { writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { TEMPLATES as SMS_APPROVALS } from '../providers/aliyun/rig.ts'
import { NO_QUOTAS, type ServiceRig, smsBody, startRig, until } from '../rigs/service.ts'
import { startTwoCarriers, TEMPLATES } from '../rigs/two-carriers.ts'

/** Login codes by an approved template, and forgotten passwords by one that is under review. */
const ONE_UNDER_REVIEW = TEMPLATES.replace(
  'tencent:',
  '  forgotten-password: { mainland: { template: SMS_3, params: { code: code } } }\ntencent:',
)
const FORGOTTEN = 2
const LOGIN_CODE = 4

let numbers = 0
function nextNumber(): string {
  numbers += 1
  return `1380013${String(numbers).padStart(4, '0')}`
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Sends a code; it is answered when it was sent, or at the deadline. */
async function send(rig: ServiceRig, type: number, to = nextNumber()): Promise<void> {
  const { errCode } = await rig.post('sms', smsBody({ to }, { type }))
  if (errCode !== 0) throw new Error(`answered ${errCode}`)
}

async function openAliyunAlone(t: Test) {
  const approvals = SMS_APPROVALS.map(each => ({ ...each }))
  const two = await startTwoCarriers(t, { templates: approvals })
  await writeFile(two.templatesFile, ONE_UNDER_REVIEW)
  const rig = await startRig(t, {
    ...NO_QUOTAS,
    ...two.settings,
    SMS_ROUTES: 'CN=aliyun; *=twilio',
    ANSWER_WITHIN_MS: '1000',
  })
  const page = (path: string, language = 'en') => rig.page(path, { 'accept-language': language })
  const refusals = () =>
    two.aliyun.standIn.requests.filter(({ query }) => query['TemplateCode'] === 'SMS_3').length
  /** Sends login codes one after the other. @returns of how many the carrier had each by its answer: none waited for a trial. */
  const sendInTime = async (count: number): Promise<number> => {
    let inTime = 0
    for (let n = 0; n < count; n += 1) {
      const before = two.aliyun.standIn.messages.length
      await send(rig, LOGIN_CODE)
      if (two.aliyun.standIn.messages.length > before) inTime += 1
    }
    return inTime
  }
  /** The review of the template is over. */
  const approve = (): void => {
    for (const each of approvals) each.AuditStatus = 'AUDIT_STATE_PASS'
  }
  return { ...two, rig, page, refusals, sendInTime, approve }
}

t.test('one kind’s template under review delays no other kind, and everybody who looks sees it', async t => {
  const { aliyun, rig, page, refusals, sendInTime, templatesFile } = await openAliyunAlone(t)
  const waiting = Array.from({ length: 12 }, () => send(rig, FORGOTTEN))
  t.equal(await sendInTime(60), 60, 'all login codes were sent before they were answered')
  await Promise.all(waiting)
  t.ok(refusals() <= 12, 'and each that was refused asked once at most')

  // Low traffic: nothing was sent for a while, and a trial is due.
  const before = refusals()
  await pause(2500)
  t.equal(await sendInTime(1), 1, 'after a while, too')
  t.ok(refusals() - before <= 3, `${refusals() - before} tried it`)

  t.match(
    await page('/readyz'),
    /aliyun refuses the template of forgotten-password since [\d: -]+ UTC: isv.SMS_TEMPLATE_ILLEGAL/,
  )
  t.match(await page('/console'), /aliyun refuses the template of forgotten-password since/)
  t.match(
    await page('/console', 'zh-CN'),
    /aliyun 自 [\d: -]+ UTC 起拒绝 忘记密码（forgotten-password） 的模板/,
  )
  t.match(
    await page('/metrics'),
    /partial_fault\{channel="sms",provider="aliyun",by="answer",scope="template",name="forgotten-password"\} 1\n/,
  )
  t.match(await page('/metrics'), /breaker_open\{provider="aliyun"\} 0\n/)
  t.match(
    rig.events().find(each => each['event'] === 'partial-fault'),
    { provider: 'aliyun', scope: 'template', name: 'SMS_3', kind: 'forgotten-password', level: 50 },
  )
  // Each that waits is tried now and then, and says meanwhile that it is being sent.
  await until(async () => {
    const [newest] = /\/console\/messages\/[0-9a-f]{32}/.exec(
      await page('/console/messages?state=queued'),
    ) ?? ['']
    return (await page(newest)).includes('aliyun refuses the template of forgotten-password')
  }, 'so does `find`')

  await writeFile(templatesFile, ONE_UNDER_REVIEW.replace('SMS_3', 'SMS_1'))
  await until(
    () => rig.events().some(each => each['message'] === 'templates read again'),
    'the operator maps it to an approved one',
  )
  await send(rig, FORGOTTEN)
  await until(() => aliyun.standIn.messages.length === 74, 'it is sent at once, and so are those that waited')
})

t.test('a look at the approval tries a template, and what waited is sent when it is there', async t => {
  const { aliyun, rig, page, refusals, approve } = await openAliyunAlone(t)
  await Promise.all(Array.from({ length: 6 }, () => send(rig, FORGOTTEN)))
  await until(
    async () => (await page('/readyz')).includes('isv.SMS_TEMPLATE_ILLEGAL: is under review'),
    'it is known why',
  )
  t.match(await page('/console', 'zh-CN'), /isv.SMS_TEMPLATE_ILLEGAL：审核中/)
  const asked = refusals()
  await pause(2000)
  t.equal(refusals(), asked, 'nobody’s code is handed over in vain')
  approve()
  await until(() => aliyun.standIn.messages.length === 6, 'all are sent')
  await until(async () => !(await page('/readyz')).includes('partial'), 'nobody says so any more')
  t.equal(refusals(), asked + 6)
})
