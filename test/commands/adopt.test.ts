import { join } from 'node:path'
import t from 'tap'
import { command, standInsFor } from './rig.ts'

t.test('a store of another enterprise is refused by check, too, and taken over once', async t => {
  const { env } = await standInsFor(t)
  const settings = { ...env, DATABASE_URL: `file:${join(t.testdir({}), 'outbox.db')}` }
  const adopt = (corpId: string, former: string) =>
    command(['adopt', former], { ...settings, CORP_ID: corpId })
  const first = await adopt('acme', 'nobody')
  t.match(first, { code: 0, out: /^the store is now that of acme:/ }, 'a new one has no note')
  const checked = await command(['check'], { ...settings, CORP_ID: 'bolt', LC_ALL: 'zh_CN.UTF-8' })
  t.match(checked.out, /另一家企业 acme.*请更正 CORP_ID（bolt）.*callback-courier adopt acme/s)
  t.match(await adopt('bolt', 'cogs'), { code: 1, err: /of another enterprise, acme,/ })
  t.match(await adopt('bolt', 'acme'), { code: 0, out: /^the store is now that of bolt:/ })
  t.match(await adopt('bolt', 'acme'), { code: 0 })
})
