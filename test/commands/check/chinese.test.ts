import t from 'tap'
import { englishIn } from '../../language/english.ts'
import { command, running } from '../rig.ts'

const CHINESE = { LANG: 'zh_CN.UTF-8' }

/** Each line of `check` in Chinese, without what the test made up. */
async function linesOf(env: Readonly<Record<string, string | undefined>>): Promise<readonly string[]> {
  const { out } = await command(['check'], { ...env, ...CHINESE })
  return out.split('\n').filter(line => line !== '')
}

t.test('check says in Chinese what works, for a service that runs', async t => {
  const { env, standIns } = await running(t, { ADMIN_TOKENS: 'a-password-of-this-test' })
  const lines = await linesOf(env)
  t.ok(lines.length > 15, lines.join('\n'))
  for (const line of lines)
    t.same(englishIn(line, ['ECONNREFUSED', 'example.com', 'tmpfs', 'overlay']), [], line)
  t.match(lines.at(-1), /^\d+ 项正常，\d+ 项需要注意，\d+ 项失败$/)
  t.match(
    lines.find(line => line.includes('已连接')),
    /^正常 {2}smtp {11}/,
  )
  standIns.setFault('email', 'later')
  const { out } = await command(['check', '--json'], { ...env, ...CHINESE })
  t.notMatch(out.replaceAll('示例科技', ''), /\p{Script=Han}/u, 'a program reads English')
  const { out: english } = await command(['check'], { ...env, LANG: 'de_DE.UTF-8' })
  t.match(english, /\d+ ok, \d+ to look at, \d+ failed/)
})
