import t from 'tap'
import { overviewPages } from '../../src/admin/console/overview.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import { createServiceHealth } from '../../src/admin/service-health.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'

async function certificateRow(names: readonly string[]): Promise<string> {
  const none = () => null
  const options = {
    now: () => 0,
    startedAt: 0,
    status: { readSummary: () => Promise.reject(new StoreUnavailable('away')), providers: () => [] },
    health: createServiceHealth(() => 0),
    channelStatus: () => [],
    channels: [],
    certificate: () => ({ names, expiresAt: 864e8, chain: 'self-signed', flaws: [] }),
    renewalRefused: none,
    storeLoss: none,
    templateProblems: () => [],
    deviceAlerts: none,
    webhooks: none,
    draining: () => false,
    requiredIsSafe: () => [],
  } as unknown as ConsoleOptions
  const page = await overviewPages[0]?.handle({ query: {} } as unknown as PageRequest, options)
  const text = page !== undefined && page.is === 'page' ? page.content.in('en') : ''
  return /<dt>Certificate<\/dt><dd>(.*?)<\/dd>/s.exec(text)?.[1] ?? ''
}

t.test('the certificate on the overview says which hosts it is for, and that it is for none', async t => {
  t.match(
    await certificateRow(['a.example', 'b.example']),
    /^a\.example, b\.example; until .*; chain self-signed/,
  )
  t.match(await certificateRow([]), /^no host; until /)
})
