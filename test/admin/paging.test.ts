import t from 'tap'
import { filterOf } from '../../src/admin/console/messages.ts'
import { createStatus } from '../../src/admin/status/status.ts'
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
  const status = createStatus(viewOf({ queries: queries as never }))
  let query = {}
  for (let more = true; more; ) {
    const page = await status.listMessages(filterOf(query, []))
    pages.push(page.messages.map(row => row.id))
    more = page.before !== null
    query = { before: String(page.before) }
  }
  return pages
}

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
