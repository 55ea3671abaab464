import t from 'tap'
import { messagePages } from '../../src/admin/console/messages.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import { readPage } from '../../src/admin/status/status.ts'
import type { ListFilter } from '../../src/outbox/outbox.ts'
import { sentMessage, viewOf } from '../rigs/view.ts'

/** A store with so many messages of each callback, the newest callback first; each arrived a second after the last. */
function storeOf(recipients: readonly number[], stepMs = Infinity) {
  const asked: ListFilter[] = []
  const rows = recipients.flatMap((count, at) =>
    Array.from({ length: count }, (_, n) => ({
      ...sentMessage,
      id: `${at}.${n}`,
      arrivedAt: 1_000_000 - at * 1000,
    })),
  )
  const listMessages = async (filter: ListFilter) => {
    asked.push(filter)
    const { before = Infinity, limit } = filter
    const lookedFrom = Math.min(before, 1_000_001) - stepMs
    const messages = rows
      .filter(({ arrivedAt }) => arrivedAt < before && arrivedAt >= lookedFrom)
      .slice(0, limit)
    return { messages, lookedFrom: messages.length === limit || lookedFrom < 0 ? null : lookedFrom }
  }
  return { asked, view: viewOf({ queries: { ...viewOf().queries, listMessages } }) }
}

async function askConsole(
  method: string,
  given: Partial<PageRequest>,
  { view }: Pick<ReturnType<typeof storeOf>, 'view'>,
) {
  const request = { language: 'en', operator: '', params: {}, query: {}, fields: {}, ...given } as const
  const options = { view, hashOf: () => 'hash-of-ann' } as unknown as ConsoleOptions
  const found = messagePages.find(page => page.method === method && page.path === '/console/messages')
  const response = await found?.handle(request, options)
  return response?.is === 'redirect' ? response.to : response?.is === 'page' ? response.content.in('en') : ''
}

t.test('every message is on one page, and a page ends between two callbacks', async t => {
  for (const [recipients, lengths] of [
    [[], [0]],
    [[50], [50]],
    [[51], [51]],
    [
      [30, 30, 10],
      [30, 40],
    ],
    [
      [49, 2, 50],
      [49, 2, 50],
    ],
    [
      [1, 1000, 1],
      [1, 1000, 1],
    ],
    [Array<number>(120).fill(1), [50, 50, 20]],
  ] as const) {
    const { view } = storeOf(recipients)
    const pages: (readonly string[])[] = []
    let before: number | null | undefined
    while (before !== null) {
      const page = await readPage(view, before === undefined ? {} : { before })
      pages.push(page.messages.map(({ id }) => id))
      before = page.before
    }
    t.same(
      pages.map(page => page.length),
      lengths,
    )
    const all = pages.flat()
    t.equal(new Set(all).size, all.length, 'each once')
  }
})

t.test('the first page says how many there are, up to five hundred', async t => {
  for (const [recipients, caption] of [
    [[], 'No message'],
    [[1], '1 message'],
    [[51], '51 messages, newest first'],
    [Array<number>(120).fill(1), 'Newest 50 of 120 messages'],
    [Array<number>(500).fill(1), 'Newest 50 of 500 messages'],
    [Array<number>(501).fill(1), 'Newest 50 of more than 500 messages'],
    [[800], '800 messages, newest first'],
    [[800, 1], 'Newest 800 of more than 800 messages'],
  ] as const)
    t.match(await askConsole('GET', {}, storeOf(recipients)), `<caption>${caption}</caption>`)
  const later = await askConsole('GET', { query: { before: '1000000' } }, storeOf(Array(120).fill(1)))
  t.match(later, '<caption>50 messages, newest first</caption>')
})

t.test('a page looks back in twenty steps, says how far, and the older page goes on there', async t => {
  const store = storeOf([2, ...Array<number>(40).fill(1)], 1000)
  const text = await askConsole('GET', { query: { kind: 'login-code' } }, store)
  t.same([store.asked.length, store.asked[19]?.limit], [20, 481])
  t.match(text, '<caption>21 messages, newest first</caption>')
  t.match(text, 'Only what arrived since 1970-01-01 00:16:20 UTC was looked through')
  t.match(text, '<a href="/console/messages?kind=login-code&amp;before=980001">Older</a>')
  const older = (await readPage(store.view, { before: 980_001 })).messages.map(({ id }) => Number(id))
  t.same(older, [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39])
})

t.test('a list is of days of the reader, in the zone that the browser says', async t => {
  const store = storeOf([1])
  const html = await askConsole(
    'GET',
    { query: { from: '2026-11-20', to: '2026-11-21', zone: '-480' } },
    store,
  )
  await askConsole('GET', { query: { from: '2026-13-20', to: '2026-11-21', zone: '-480' } }, store)
  const before = Date.parse('2026-11-21T16:00Z')
  t.match(store.asked, [
    { since: Date.parse('2026-11-19T16:00Z'), before },
    { since: undefined, before },
  ])
  for (const part of [/name="from" value="2026-11-20"/, /name="zone" value="-480"/]) t.match(html, part)
})

t.test('a list keeps its filter: in what the store is asked, in the form, and on the older page', async t => {
  const store = storeOf(Array<number>(51).fill(1))
  const chosen = { channel: 'sms', state: 'sent', kind: 'login-code' }
  const redirect = await askConsole('POST', { fields: { ...chosen, recipient: '+8613800138000' } }, store)
  const query = Object.fromEntries(new URL(redirect, 'http://console').searchParams)
  t.same(query, { ...chosen, who: 'hash-of-ann' })
  const text = await askConsole('GET', { query: { ...query, before: '1000001' } }, store)
  t.same(store.asked, [{ ...chosen, recipientHash: 'hash-of-ann', before: 1_000_001, limit: 51 }])
  const all = 'channel=sms&amp;state=sent&amp;kind=login-code&amp;who=hash-of-ann'
  t.match(text, `<a href="/console/messages?${all}">Newest</a>`)
  t.match(text, `<a href="/console/messages?${all}&amp;before=951000">Older</a>`)
  for (const value of Object.values(chosen)) t.match(text, `<option value="${value}" selected>`)
})
