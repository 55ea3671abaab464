import { PassThrough } from 'node:stream'
import t from 'tap'
import { createBacklogEstimate } from '../../src/outbox/postgres/backlog.ts'
import type { Client } from '../../src/outbox/postgres/connect.ts'

t.test('the backlog is counted before it can be full, and when the count is old', async t => {
  const counted = { live: 0, times: 0 }
  const client = {
    connection: { stream: new PassThrough() },
    query: () => {
      counted.times += 1
      return Promise.resolve({ rows: [{ live: String(counted.live) }] })
    },
  } as unknown as Client
  const estimate = createBacklogEstimate(1000)
  const timesAt = async (now: number, added: number) => {
    await estimate.refresh(client, now, added)
    return counted.times
  }
  counted.live = 100
  t.equal(await timesAt(0, 1), 1, 'nothing was counted yet')
  t.equal(await timesAt(1000, 1), 1)
  t.equal(await timesAt(1000, 401), 2, 'more than half of MAX_BACKLOG')
  estimate.add(400)
  t.equal(estimate.live(), 500)
  t.equal(await timesAt(1000, 1), 3, 'what was stored since counts')
  t.equal(estimate.live(), 100, 'what ended since is counted away')
  t.equal(await timesAt(6001, 0), 4, 'other replicas may have stored since')
  t.equal(await timesAt(-6000, 0), 5, 'the clock was set back')
})
