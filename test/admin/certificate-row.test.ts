import t from 'tap'
import { overviewPages } from '../../src/admin/console/overview.ts'
import type { ConsoleOptions, PageRequest } from '../../src/admin/console/page.ts'
import { viewOf } from '../rigs/view.ts'

async function certificateRow(names: readonly string[]): Promise<string> {
  const options = {
    view: viewOf({ certificate: () => ({ names, expiresAt: 864e8, chain: 'self-signed', flaws: [] }) }),
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
