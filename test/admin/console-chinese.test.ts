import t from 'tap'
import { callbackKinds } from '../../src/messages/kinds.ts'
import { englishIn, readableText } from '../language/english.ts'
import { mailBody, smsBody, startRig, until } from '../rigs/service.ts'

const KINDS = callbackKinds.map(({ name }) => name)

t.test('every page is in the language that the browser asks for', async t => {
  const rig = await startRig(t, { EMAIL_TOKEN_PREVIOUS: 'anOldTokenOfGoodLength', POST_SIGNATURE: 'observe' })
  rig.smtp.act = ({ step }) => (step === 'AUTH' ? { is: 'say', reply: '535 5.7.8' } : undefined)
  await rig.post('email', mailBody())
  await rig.post('sms', smsBody())
  await rig.validate('sms')
  await rig.ask(rig.path('email').replace('/email', 'x/email'))
  await until(() => rig.events().some(each => each['event'] === 'final'), 'an end')
  const ask = (path: string, init: RequestInit = {}, language = 'zh-CN,zh;q=0.9,en;q=0.5') =>
    fetch(`${rig.service().adminUrl}${path}`, { ...init, headers: { 'accept-language': language } })
  const list = await (await ask('/console/messages')).text()
  const ids = [...list.matchAll(/\/console\/messages\/([0-9a-f]{32})/g)].map(([path]) => path)
  t.equal(ids.length, 2)
  const form = (fields: Record<string, string>): RequestInit => ({
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  const pages: readonly (readonly [string, RequestInit?])[] = [
    ['/console'],
    ['/console?period=day'],
    ['/console/today'],
    ['/console/messages?state=undelivered'],
    ['/console/messages?state=none&kind=file'],
    ['/console/messages?state=expired'],
    ['/console/messages', form({ recipient: 'nobody' })],
    ['/console/messages', form({ recipient: 'nobody@example.com' })],
    ...ids.map(path => [path] as const),
    ['/console/messages/none'],
    ['/console/templates'],
    ['/console/templates/email/file/zh-CN'],
    ['/console/templates/sms/login-code/zh-CN'],
    ['/console/templates/sms/login-code/xx'],
    ['/console/send'],
    ['/console/send', form({ kind: 'none' })],
    ['/console/send', form({ kind: 'sms/login-code', to: '+8613800138000' })],
    ['/console/urls'],
    ['/console/nowhere'],
  ]
  const given = [...KINDS, 'state', 'OK: kept as']
  for (const [path, init] of pages) {
    const response = await ask(path, init)
    const page = await response.text()
    const at = `${path} ${JSON.stringify(init?.body ?? '')}`
    t.match(page, '<html lang="zh-CN"', at)
    t.equal(response.headers.get('content-language'), 'zh-CN')
    t.match(response.headers.get('vary') ?? '', 'accept-language')
    t.same(englishIn(readableText(page), given), [], at)
  }
  const english = await (await ask('/console', {}, 'de')).text()
  t.match(english, '<html lang="en"')
  t.notMatch(english, /\p{Script=Han}/u)
})
