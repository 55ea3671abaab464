import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recordCalls } from '../rigs/recorder.ts'
import { viewOf } from '../rigs/view.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

const config = {
  ADMIN_HOST: '192.0.2.1',
  ADMIN_TOKENS: new Map([['ann', 'token']]),
  ADMIN_NAMES: ['admin.example'],
  POST_SIGNATURE: 'required',
  QUOTAS: { 'sms-day': 7 },
  LOCALE: 'zh-CN',
  DEFAULT_AREA_CODE: '86',
  CALLBACK_KEYS: new Map(['email', 'sms-previous'].map(place => [place, 'key'])),
}

t.test('what the pages are given, how a typed recipient is found, and how often is looked', async t => {
  const time = enterVirtualTime(t)
  const { lines, label, load, given, poke } = recordCalls(t, {
    folder: 'admin',
    untold:
      /^(?!createReadiness|createAdminListener|createPhoneParser|createFactWatch|statusRoutes|consoleRoutes)/,
  })
  const admin = (await load('admin.ts')) as typeof import('../../src/admin/admin.ts')
  const handed = { urls: {}, reportUrls: {}, testSend: {}, renderer: {}, metrics: {} }
  const parts = {
    ...handed,
    view: viewOf({ channels: ['email', 'sms'] }),
    emit: (event: object) => lines.push(`emit ${JSON.stringify(event)}`),
    outbox: {
      actions: {},
      async backUp(copy: string) {
        await Promise.resolve()
        lines.push(`copied: ${statSync(copy).mode.toString(8)}`)
      },
    },
    delivery: { tryNow: () => {} },
    keys: { recipientHash: (channel: string, to: string) => `${channel} ${to}` },
  }
  for (const [name, part] of Object.entries(parts)) label(part, name)
  const DATABASE_URL = { kind: 'file', path: join(t.testdir(), 'courier.db') }
  const byToken = { ...config, DATABASE_URL, CALLBACK_KEYS: undefined, EMAIL_TOKEN_PREVIOUS: 'old' }
  await (await admin.openAdmin({ ...parts, config: byToken } as never)).close()
  const app = await admin.openAdmin({ ...parts, config: { ...config, DATABASE_URL } } as never)
  given('createAdminListener', 1)['onRefused']?.('token' as never)
  const headers = { host: 'localhost', authorization: 'Bearer token' }
  await app.inject({ method: 'POST', url: '/backup', headers })
  for (const typed of ['Ann <ann@Example.com>', '+4915112345678', '13800138000', 'ann'])
    await poke('hashOf', given('consoleRoutes', 1)['hashOf'], typed)
  Object.assign(parts.view.queries, {
    readSummary: async () => void lines.push(`the store is asked at ${time.now()}`),
  })
  time.tick(60_000)
  await app.close()
  time.tick(60_000)
  admin.openWaitingAdmin(config as never, parts.view.now, parts.emit, () => 'it does not answer')
  await poke('isReady', given('createAdminListener'))
  t.equal(`${lines.join('\n')}\n`, readFileSync(join(import.meta.dirname, '../fixtures/admin.txt'), 'utf8'))
})
