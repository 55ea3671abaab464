import t from 'tap'
import { overviewPages } from '../../src/admin/console/overview.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import type { ServiceView } from '../../src/admin/service-view.ts'
import { viewOf } from '../rigs/view.ts'
import { view as seen } from './every-event.ts'

const NOW = Date.parse('2026-11-21T02:04:30Z')
const DAY = 86_400_000
const [email, sms] = seen.channelStatus()

async function overview(given: Partial<ServiceView>, query = {}, more: Partial<ConsoleOptions> = {}) {
  const options = {
    view: viewOf({ now: () => NOW, ...given }),
    rotating: ['email'],
    ...more,
  } as unknown as ConsoleOptions
  const page = await overviewPages[0]?.handle({ query } as unknown as PageRequest, options)
  return page?.is === 'page' ? page.content.in('en') : ''
}

t.test('each provider says how it does, and what it is given', async t => {
  if (email === undefined || sms === undefined) throw new Error('no lanes')
  const { health } = viewOf()
  const provider = { lastSentAt: null, lastError: null, since: NOW - 90_000 } as const
  const shown = async (up: boolean, ...lanes: readonly (typeof email)[]) =>
    overview({
      channelStatus: () => lanes,
      health: {
        ...health,
        providers: () => [
          { ...provider, provider: 'smtp', channel: 'email', up },
          { ...provider, provider: 'twilio', channel: 'sms', up: true },
        ],
      },
    })
  const well = { ...email, partialFaults: [] }
  t.match(
    await shown(true, well),
    /s-sent">works<\/span> <strong>smtp<\/strong> <span class="soft">for 1 min 30 s</,
  )
  t.match(await shown(false, well), 's-unknown">fails<')
  t.match(await shown(true, email), 's-unknown">works in part<')
  const lane = { ...well, breakerUntil: NOW + 5000 }
  t.match(
    await shown(true, lane),
    '1 in flight (1 of them waiting long for the reply), 2 in memory; 5 at once: not measured yet<br>smtp keeps failing and is left alone for 5.0 s; then one message tries it.<',
  )
  t.match(
    await shown(true, { ...lane, breakerUntil: NOW }),
    'not measured yet<br>smtp keeps failing, and one message is trying it.<',
  )
  t.match(
    await shown(true, sms),
    '3 in flight, 0 in memory; 10 at once: not measured yet<br>It is asked second, because its delivery reports are late',
  )
  t.match(await overview({ channelStatus: () => [well] }), 'smtp: nothing sent yet.')
  const to = (place: string, inFlight: number, waiting: number, rest: object | null = null) => ({
    destination: place,
    place,
    inFlight,
    waiting,
    rest,
  })
  const rests = { until: NOW + 8000, reply: 'mail to b.test is slow' }
  const destinations = [to('a.test', 2, 0), to('b.test', 0, 3, rests), to('c.test', 4, 5)]
  const queries = {
    ...viewOf().queries,
    readWaiting: async () => [{ destination: 'c.test', count: 5, dueAt: NOW - 65_000 }],
  }
  const channelStatus = () => [{ ...well, destinations }] as never
  const page = await overview({ channels: ['email'], channelStatus, queries })
  t.match(page, 'b.test: 0 in flight, 3 wait; mail to b.test is slow (8.0 s left)<br>c.test: 4 in')
  t.match(page, 'c.test: 4 in flight, 10 wait, the first due for 1 min 5 s<')
  t.notMatch(page, 'a.test', 'nothing waits for it')
})

t.test(
  'the platform and the service: what waits, the store’s size, events, signatures, an old URL',
  async t => {
    const queries = {
      ...viewOf().queries,
      readSummary: async () => ({
        ...(await viewOf().queries.readSummary(0)),
        backlog: { email: 7, sms: 5 },
        leftOut: 4,
        bytes: 3 * 1_048_576,
      }),
    }
    const webhooks = { leads: true, isGone: false, failing: null, waiting: 9, oldestAt: 0 }
    const { health } = viewOf()
    const page = await overview({
      channels: ['email', 'sms'],
      queries,
      startedAt: NOW - 3_600_000,
      webhooks: () => webhooks,
      health: {
        ...health,
        ofChannel: channel => ({
          ...health.ofChannel(channel),
          signatures: { right: 1, stale: 4, wrong: 2, absent: 3 },
          heldBack: [
            { quota: 'sms-minute', to: '', count: 6, lastAt: NOW },
            { quota: 'sms-day', to: '', count: 8, lastAt: NOW - 60_000 },
          ],
          newcomers: new Map([
            ['49', 3],
            ['86', 12],
          ]),
        }),
      },
    })
    for (const part of [
      '<dt>Waiting</dt><dd>7 by e-mail, 5 by SMS</dd>',
      '<dt>Store</dt><dd>3.0 MiB</dd>',
      '<dt>Events waiting</dt><dd>9</dd>',
      '1 h 0 min so far',
      '<dd>sms-minute: 6, the last at 2026-11-21 02:04:30 UTC<br>sms-day: 8, the last at 2026-11-21 02:03:30 UTC<br></dd>',
      '<dd>1 right, 4 too old, 2 wrong, 3 unsigned</dd>',
      '<dt>Previous URL last used</dt><dd>not since the start</dd>',
      '<dt>New numbers in an hour</dt><dd>+86: 12 at most<br>+49: 3 at most<br></dd>',
    ])
      t.match(page, part)
    t.notMatch(page, 'Addresses left out', 'with BOUNCE_REFUSE=off')
    t.match(
      await overview({ channels: ['sms', 'email'], queries, countLeftOut: ({ leftOut }) => leftOut }),
      /<h3>e-mail<\/h3>[^]*<dt>Addresses left out<\/dt><dd>4<\/dd>/i,
    )
    t.equal(page.split('Previous URL').length, 2, 'of the channel whose Token is replaced')
    t.match(await overview({ webhooks: () => ({ ...webhooks, leads: false }) }), 'another replica tells them')
  },
)

t.test('what is wrong is judged by the last day, whatever period the figures cover', async t => {
  const asked: number[] = []
  const queries = {
    ...viewOf().queries,
    readSummary: async (since: number) => {
      asked.push((NOW - since) / 60_000)
      const counts =
        NOW - since < DAY ? [] : [{ channel: 'email', kind: 'file', state: 'sent', count: 20 } as const]
      return { ...(await viewOf().queries.readSummary(0)), counts, bounced: counts.length }
    },
  }
  t.match(await overview({ queries }), 'Of 20 mails of the last day, 1 came back.')
  t.match(await overview({ queries }, { period: 'day' }), 'Of 20 mails of the last day, 1 came back.')
  t.same(asked, [60, 1440, 1440, 60], 'minutes')
})

t.test('the certificate says which hosts it is for, and that it is for none', async t => {
  const row = async (names: readonly string[]) => {
    const chain = 'self-signed' as const
    const certificate = () => ({ names, expiresAt: 864e8, chain, flaws: [] })
    return /<dt>Certificate<\/dt><dd>(.*?)<\/dd>/s.exec(await overview({ certificate }))?.[1] ?? ''
  }
  t.match(await row(['a.example', 'b.example']), /^a\.example, b\.example; until .*; chain self-signed/)
  t.match(await row([]), /^no host; until /)
})

t.test('the subscription says how it does, and what the platform said is escaped', async t => {
  const status = { leads: true, subscribed: true, forMs: 3_600_000, refused: [], received: 42, malformed: 1 }
  const card = (more: object) => overview({ deviceAlerts: () => ({ ...status, lastEnd: null, ...more }) })
  t.match(await card({}), /subscribed<\/span> <span class="soft">for 1 h 0 min/)
  t.match(await card({}), '42 messages, 1 that cannot be used')
  t.match(await card({ leads: false }), 'Another replica watches the devices.')
  const said = await card({ subscribed: false, lastEnd: { is: 'refused', why: '<b>no</b>' } })
  t.match(said, 'not subscribed')
  t.match(said, 'refused, &lt;b&gt;no')
  t.notMatch(said, '<b>')
})
