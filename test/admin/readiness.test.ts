import t from 'tap'
import { createReadiness } from '../../src/admin/readiness.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import { build } from '../../src/runtime/build.ts'
import { mailBody, type ServiceRig, startRig, until } from '../rigs/service.ts'
import { viewOf } from '../rigs/view.ts'
import { enterVirtualTime, settled } from '../rigs/virtual-time.ts'

/** The readiness of a service of which this is otherwise; it is asked once a second unless a clock says otherwise. */
function readinessOf(given: Partial<ServiceView> = {}, monotonic?: () => number) {
  let seconds = 0
  return createReadiness(viewOf(given), monotonic ?? (() => (seconds += 1) * 1000))
}

/** Questions to a store of which only the probe is asked. */
function probing(probeCommit: () => Promise<boolean>): Pick<ServiceView, 'queries'> {
  return { queries: { ...viewOf().queries, probeCommit } }
}

async function ask(rig: ServiceRig, path: string) {
  const response = await fetch(`${rig.service().adminUrl}${path}`)
  return { status: response.status, body: await response.json() }
}

t.test('however often it is asked, what ended last is read twice a minute', async t => {
  let now = 0
  const read: number[] = []
  const { queries } = viewOf()
  const readSummary: typeof queries.readSummary = async (...given) => {
    read.push(given[0])
    return queries.readSummary(...given)
  }
  const ask = readinessOf({ now: () => 7, queries: { ...queries, readSummary } }, () => now)
  for (; now < 60_000; now += 1000) t.match(await ask(), { ready: true, degraded: [] })
  t.same(read, [7, 7], 'and nothing of before')
})

t.test(
  'a mail server that is down leaves it ready; the body names the channel, and nothing else',
  async t => {
    const rig = await startRig(t)
    rig.smtp.act = ({ step }) =>
      step === 'AUTH' ? { is: 'say', reply: '535 5.7.8 wrong password' } : undefined
    await rig.post('email', mailBody())
    await until(() => rig.events().some(each => each['event'] === 'attempt'), 'an attempt')
    t.same(await ask(rig, '/readyz'), { status: 200, body: { status: 'ready', degraded: ['email'] } })

    rig.smtp.act = undefined
    await rig.post('email', mailBody({ to: 'bob@example.com' }))
    await until(() => rig.smtp.mails.length > 0, 'a mail')
    await until(() => rig.events().some(each => each['event'] === 'final'), 'the end of it')
    t.same((await ask(rig, '/readyz')).body, { status: 'ready', degraded: [] })
  },
)

t.test('while it ends it is alive but not ready, and still accepts what comes', async t => {
  const rig = await startRig(t)
  await rig.validate('email')
  const closed = rig.service().close(700)
  t.same(await ask(rig, '/readyz'), { status: 503, body: { status: 'not ready', reason: 'ending' } })
  t.same(await ask(rig, '/healthz'), { status: 200, body: { status: 'ok', ...build } })
  t.equal((await rig.post('email', mailBody())).errCode, 0)
  await closed
})

t.test('a store that cannot commit makes it unready, and so does one that does not answer', async t => {
  t.same(await readinessOf(probing(async () => false))(), {
    ready: false,
    reason: 'the store cannot commit',
  })
  t.same(await readinessOf(probing(() => new Promise(() => {})))(), {
    ready: false,
    reason: 'the store does not answer',
  })
  const files = await readinessOf({ lacksDescriptors: () => true })()
  t.match(files, { ready: false, reason: /LimitNOFILE/ })
  const broken = readinessOf(probing(() => Promise.reject(new Error('a bug'))))
  await t.rejects(broken(), /a bug/)
  await t.rejects(broken(), /a bug/, 'and is looked at anew each time')
})

t.test('a store that fails now and then stays unready until it has committed for a while', async t => {
  let now = 0
  let commits = true
  const ready = readinessOf(
    probing(async () => commits),
    () => now,
  )
  t.match(await ready(), { ready: true }, 'a first success needs no proof')
  const seen: boolean[] = []
  for (const [at, works] of [
    [1000, false],
    [2000, true],
    [3000, false],
    [4000, true],
    [5999, true],
    [6000, true],
    [6001, true],
  ] as const) {
    now = at
    commits = works
    seen.push((await ready()).ready)
  }
  t.same(seen, [false, false, false, false, false, true, true])
})

t.test('a store that hangs is asked once, and again when it has answered', async t => {
  const time = enterVirtualTime(t)
  let probes = 0
  let answerProbe: (commits: boolean) => void = () => {}
  const ready = readinessOf(
    probing(() => {
      probes += 1
      return new Promise(resolve => {
        answerProbe = resolve
      })
    }),
  )
  for (let n = 0; n < 2; n += 1) {
    const answered = ready()
    time.tick(2000)
    t.match(await answered, { ready: false, reason: 'the store does not answer' })
  }
  t.equal(probes, 1)
  answerProbe(true)
  await settled()
  void ready()
  t.equal(probes, 2)
  answerProbe(true)
})

t.test('a flood of questions costs ten commits a second', async t => {
  let [now, probes] = [0, 0]
  const probe = async () => {
    probes += 1
    return true
  }
  const ready = readinessOf(probing(probe), () => now)
  for (; now <= 500; now += 5) t.match(await ready(), { ready: true })
  t.equal(probes, 6)
})
