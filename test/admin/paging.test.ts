import t from 'tap'
import { filterOf, messagePages } from '../../src/admin/console/messages.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import { readPage } from '../../src/admin/status/status.ts'
import type { ListFilter, MessageView } from '../../src/outbox/outbox.ts'
import { viewOf } from '../rigs/view.ts'

/** A store with so many messages of each callback, the newest callback first; each arrived a second after the last. */
function desk(recipients: readonly number[]) {
  const rows = recipients.flatMap((count, at) =>
    Array.from({ length: count }, (_, n) => ({ id: `${at}.${n}`, arrivedAt: 1_000_000 - at * 1000 })),
  )
  return {
    async listMessages({ before = Infinity, limit }: ListFilter) {
      return rows.filter(row => row.arrivedAt < before).slice(0, limit) as unknown as readonly MessageView[]
    },
  }
}

/** Ids of each page, as somebody sees them who presses "Older" until there is none. */
async function walk(recipients: readonly number[]): Promise<readonly (readonly string[])[]> {
  const pages: (readonly string[])[] = []
  const queries = { ...desk(recipients), findMessage: t.fail, readSummary: t.fail }
  const view = viewOf({ queries: queries as never })
  let query = {}
  for (let more = true; more; ) {
    const page = await readPage(view, filterOf(query))
    pages.push(page.messages.map(row => row.id))
    more = page.before !== null
    query = { before: String(page.before) }
  }
  return pages
}

/** A message as the store shows it. */
const row: MessageView = {
  id: 'a'.repeat(32),
  channel: 'sms',
  kind: 'login-code',
  purpose: 'code',
  maskedRecipient: '+86*******8000',
  state: 'sent',
  answer: null,
  attempts: 1,
  ambiguous: 0,
  arrivedAt: 0,
  expiresAt: 60_000,
  dueAt: null,
  finalAt: 1000,
  providerId: null,
  receipt: null,
  timeline: [],
}

t.test('a list is of days of the reader, in the zone that the browser says', async t => {
  const asked: ListFilter[] = []
  const rows = [
    {
      ...row,
      timeline: [{ at: 1, provider: 'x', code: '1', outcome: 'sent', reply: '=cmd|"/c"!A1', tookMs: 1 }],
    },
    { ...row, kind: '-1+1', maskedRecipient: 'a***@example.com', providerId: '\t@SUM(1)', finalAt: null },
  ]
  const queries = {
    async listMessages(filter: ListFilter) {
      asked.push(filter)
      return rows as unknown as readonly MessageView[]
    },
  }
  const view = viewOf({ queries: { ...queries, findMessage: t.fail, readSummary: t.fail } as never })
  const options = { view } as unknown as ConsoleOptions
  const ask = (path: string, language: 'en' | 'zh-CN') =>
    messagePages
      .find(page => page.method === 'GET' && page.path === path)
      ?.handle(
        {
          language,
          operator: '',
          params: {},
          fields: {},
          query: { from: '2026-11-20', to: '2026-11-21', zone: '-480', state: 'sent' },
        },
        options,
      )
  const days = {
    since: Date.parse('2026-11-19T16:00Z'),
    before: Date.parse('2026-11-21T16:00Z'),
    state: 'sent',
  }
  const page = await ask('/console/messages', 'en')
  t.match(asked[0], days)
  if (page?.is !== 'page') throw new Error('no page')
  const html = page.content.in('en')
  for (const part of [/name="from" value="2026-11-20"/, /name="zone" value="-480"/]) t.match(html, part)
})

t.test('every message is on one page, however the callbacks fall', async t => {
  for (const recipients of [
    [],
    [1],
    [50],
    [51],
    [30, 30],
    [49, 2, 50],
    [1, 1000, 1],
    [120, 3],
    Array<number>(160).fill(1),
  ]) {
    const pages = await walk(recipients)
    const all = pages.flat()
    t.equal(
      all.length,
      recipients.reduce((sum, count) => sum + count, 0),
      `${recipients.slice(0, 4).join()}: all`,
    )
    t.equal(new Set(all).size, all.length, 'each once')
  }
})

t.test('a page ends between two callbacks', async t => {
  t.same(
    (await walk([30, 30, 10])).map(page => page.length),
    [30, 40],
  )
  t.same(
    (await walk([80, 1])).map(page => page.length),
    [80, 1],
    'one that is larger than a page is shown whole',
  )
  t.same(
    (await walk(Array<number>(120).fill(1))).map(page => page.length),
    [50, 50, 20],
  )
})

t.test('a list keeps its filter: in what the store is asked, in the form, and on the older page', async t => {
  const asked: object[] = []
  const rows = Array.from({ length: 51 }, (_, n) => ({ ...row, arrivedAt: n < 50 ? 9000 : 8000 }))
  const listMessages = async (filter: object) => {
    asked.push(filter)
    return rows
  }
  const options = {
    view: viewOf({ queries: { ...viewOf().queries, listMessages } }),
    hashOf: () => 'hash-of-ann',
  } as unknown as ConsoleOptions
  const ask = (method: string, given: Partial<PageRequest>) =>
    messagePages
      .find(page => page.method === method && page.path === '/console/messages')
      ?.handle({ language: 'en', operator: '', params: {}, query: {}, fields: {}, ...given }, options)
  const chosen = { channel: 'sms', state: 'sent', kind: 'login-code' }
  const redirect = await ask('POST', { fields: { ...chosen, recipient: '+8613800138000' } })
  if (redirect?.is !== 'redirect') throw new Error('no redirect')
  const query = Object.fromEntries(new URL(redirect.to, 'http://console').searchParams)
  t.same(query, { ...chosen, who: 'hash-of-ann' })
  const page = await ask('GET', { query: { ...query, before: '12000' } })
  t.same(asked, [{ ...chosen, recipientHash: 'hash-of-ann', before: 12_000, limit: 51 }])
  const text = page?.is === 'page' ? page.content.in('en') : ''
  const all = 'channel=sms&amp;state=sent&amp;kind=login-code&amp;who=hash-of-ann'
  t.match(text, `<a href="/console/messages?${all}">Newest</a>`)
  t.match(text, `<a href="/console/messages?${all}&amp;before=9000">Older</a>`)
  for (const value of Object.values(chosen)) t.match(text, `<option value="${value}" selected>`)
})
