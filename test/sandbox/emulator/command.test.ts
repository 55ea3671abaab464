import t from 'tap'
import { runEmulateCommand } from '../../../sandbox/emulator/command.ts'
import { parseOptions } from '../../../sandbox/options.ts'
import { until } from '../../rigs/until.ts'

const { signal } = new AbortController()

t.test('it says where everything is, serves it, and ends when it is told', async t => {
  const ending = new AbortController()
  let out = ''
  const code = runEmulateCommand(
    '--page-port 0 --api-port 0 --ddq-port 0 --expire-in milliseconds --corp-id c1'.split(' '),
    { stdout: { write: text => (out += text) }, stderr: { write: () => {} }, signal: ending.signal },
  )
  await until(() => out.includes('Ctrl-C'), 'it has started')
  const page = /Press buttons\s+(\S+)/.exec(out)?.[1] ?? ''
  const settings = Object.fromEntries(
    [...out.matchAll(/^ {2}(DDQ_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  t.match(await (await fetch(page)).text(), /A platform on this machine/)
  t.match(await (await fetch(`${page}/state`)).json(), { about: { accounts: { corp: { corpId: 'c1' } } } })
  const login = await fetch(`${settings['DDQ_AUTH_URL']}/v2/plugin/app_auth`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ app_id: settings['DDQ_APP_ID'], app_secret: settings['DDQ_APP_SECRET'] }),
  })
  t.match(await login.json(), { access_token: /^app-/, expire_in: 7_200_000 })
  ending.abort()
  t.equal(await code, 0)
  await t.rejects(fetch(page), 'nothing answers any more')
})

t.test('a wrong command line is told with its usage', async t => {
  for (const argv of [
    ['--page-port', 'x'],
    ['--ddq-port', '70000'],
    ['--auth-path', 'auth'],
    ['--auth-path', '/a', '--subscribe-path', '/a'],
    ['--expire-in', 'days'],
    ['--unknown'],
    ['more'],
  ]) {
    let err = ''
    const io = { stdout: { write: () => {} }, stderr: { write: (text: string) => (err += text) }, signal }
    t.equal(await runEmulateCommand(argv, io), 2, argv.join(' '))
    t.match(err, /npm run emulate/, argv.join(' '))
  }
})

t.test('what is wrong with the sandbox’s options is said in the language of its reader', async t => {
  for (const [options, english] of [
    ['--port x', '--port must be a port number, 0 to 65535; 0 is any free one'],
    ['--port 1234 --page-port 1234', 'two of the ports are the same'],
    ['--set', '--set needs its value behind it'],
    ['--set x', '--set must be followed by NAME=VALUE'],
    ['--set PORT=1', '--set PORT: that is what --port is for'],
    ['--set LOCALES=x', '--set LOCALES is no setting: did you mean LOCALE?'],
    ['--set NONSENSE=x', '--set NONSENSE is no setting; `callback-courier settings` lists them'],
  ] as const) {
    const said = (language: 'en' | 'zh-CN') => parseOptions(options.split(' '), language)
    t.same(said('en'), { is: 'fault', fault: english })
    t.match(said('zh-CN'), { is: 'fault', fault: /\p{Script=Han}/u })
  }
})
