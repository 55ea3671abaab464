import t from 'tap'
import { bounceUrl } from '../../src/service/callback-urls.ts'
import { complaint, FORMS, link, type Returned } from '../bounces/forms.ts'
import { startRig } from '../rigs/service.ts'

t.test('a mail that comes back is shown with its reason, and its address is refused', async t => {
  const rig = await startRig(t, { PUBLIC_URL: 'https://courier.example.com' })
  const { pathname: path } = new URL(bounceUrl(rig.service().config, 'https://courier.example.com') ?? '')
  t.equal((await rig.post('email', link('Ann@Example.com'))).errCode, 0)
  const [mail] = rig.smtp.mails
  const id = /^X-Callback-Courier: ([0-9a-f]{32})\r$/m.exec(String(mail?.data))?.[1] ?? ''
  t.match(String(mail?.data), `Message-ID: <${id}@`)
  const bounce = async (given: Partial<Returned> = {}) =>
    rig.ask(path, {
      method: 'POST',
      // Servers explain themselves at length before the report.
      body: FORMS['postfix']({ id, to: 'ann@example.com', status: '5.1.1', ...given }).replace(
        '\r\n\r\n',
        `\r\n\r\n${'x '.repeat(50_000)}\r\n`,
      ),
    })
  t.equal((await rig.ask(`/receipt/bounce/${'0'.repeat(32)}`, { method: 'POST', body: 'x' })).status, 403)
  const forged = await bounce({ to: 'eve@example.com' })
  t.equal(forged.status, 204)
  t.equal((await rig.post('email', link('Ann@Example.com', 1))).errCode, 0)
  t.equal((await bounce()).status, 204)
  t.equal(
    (
      await rig.ask(path, {
        method: 'POST',
        body: complaint({ id: 'f'.repeat(32), to: 'a@b.cc', status: '' }),
      })
    ).status,
    204,
  )

  const refused = await rig.post('email', link('Ann@Example.com', 2))
  t.same([refused.status, refused.errCode], [400, 4002012])
  t.match(refused.errMsg, 'mail to this address came back')
  const code = { ...link('Ann@Example.com', 3), email_param: { type: 5, code: '135790', hour: '1' } }
  t.equal((await rig.post('email', code)).errCode, 0, 'a code is not')

  const { adminUrl } = rig.service()
  const shown = await rig.page(`/console/messages/${id}`)
  t.match(
    shown,
    /It did not arrive: 5.1.1 no such mailbox\..*Compare the address with what the person says\./s,
  )
  t.match(shown, 'Allow again')
  t.match(await rig.page('/console/messages'), 'undelivered')
  const metrics = await rig.page('/metrics')
  t.match(metrics, /receipts_total\{[^}]*status="undelivered"[^}]*result="recorded"[^}]*\} 1\n/)
  t.match(metrics, /receipts_total\{[^}]*status="complained"[^}]*result="unknown"[^}]*\} 1\n/)

  const allow = await fetch(`${adminUrl}/console/messages/${id}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: adminUrl, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'do=allow',
  })
  t.equal(allow.status, 303)
  t.match(
    rig.events().filter(({ event }) => event === 'operator'),
    [{ did: 'allow-again', ids: [id] }],
  )
  t.equal((await bounce()).status, 204, 'what is read twice has no second effect')
  t.equal((await rig.post('email', link('Ann@Example.com', 4))).errCode, 0)
  t.notMatch(rig.log.join(''), /ann@example/i, 'no line has the address')
})

t.test('a mail of 40 MB is taken, and what it says at its beginning is read', async t => {
  let now = Date.UTC(2026, 10, 21, 12)
  const rig = await startRig(t, {}, { clock: { now: () => now } })
  const { pathname: path } = new URL(bounceUrl(rig.service().config, 'https://courier.example.com') ?? '')
  await rig.post('email', link('ann@example.com'))
  const id = /^X-Callback-Courier: ([0-9a-f]{32})\r$/m.exec(String(rig.smtp.mails[0]?.data))?.[1] ?? ''
  const text = FORMS['gmail']({ id, to: 'ann@example.com', status: '5.1.1' })
  const { status } = await rig.ask(path, {
    method: 'POST',
    body: Buffer.concat([Buffer.from(text), Buffer.alloc(40_000_000, 'x\n')]),
  })
  t.equal(status, 204)
  t.equal((await rig.post('email', link('ann@example.com', 1))).errCode, 4002012)
  now += 15 * 60_000
  t.equal((await rig.post('email', link('ann@example.com', 2))).errCode, 0)
})
