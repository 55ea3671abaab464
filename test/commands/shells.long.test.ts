import { execFile, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { COMPILED } from '../rigs/process.ts'
import { command } from './rig.ts'

const MAIN = resolve(import.meta.dirname, '../../src/main.ts')

t.test('bash completes commands and options', async t => {
  const { out: script } = await command(['completion', 'bash'])
  const complete = async (...words: readonly string[]) => {
    const line = `COMP_WORDS=(courier ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _callback_courier; echo "\${COMPREPLY[*]}"`
    return (await promisify(execFile)('bash', ['-c', `${script}\n${line}`])).stdout.trim()
  }
  t.equal(await complete('se'), 'serve settings send')
  t.equal(await complete('send', 'e'), 'email')
  t.equal(await complete('send', 'email', '--p'), '--param --plain --plugin')
  t.equal(await complete('completion', ''), 'bash zsh --help')
  t.equal((await command(['completion', 'fish'])).code, 2)
})

/** Types each line into a zsh with a key behind it, and prints the text that the key is expected to bring. */
const TYPING = `
zmodload zsh/zpty
zpty shell zsh -d -i
for line in "$@"; do
  zpty -w -n shell $'\\x15'"\${line%%=*}"$'\\t'
  zpty -r shell seen "*\${line#*=} *" && print -r -- "\${line#*=}"
done
zpty -d shell`
const noZsh = spawnSync('zsh', ['--version']).status === 0 ? false : 'zsh is not installed'

t.test('zsh completes them, too, of the README’s alias', { skip: noZsh }, async t => {
  const { out: script } = await command(['completion', 'zsh'])
  const alias = "alias courier='docker compose exec courier callback-courier'"
  const home = t.testdir({ '.zshrc': `${alias}\neval "$(cat "$HOME/script")"\n`, script })
  const expected = ['courier send', 'courier send --param', 'SMTP_CONNECTIONS']
  const typed = ['courier sen', 'courier send --para', 'courier settings SMTP_CONN']
  const lines = typed.map((text, at) => `${text}=${expected[at]}`)
  const env = { PATH: process.env['PATH'], HOME: home, TERM: 'dumb' }
  const { stdout } = await promisify(execFile)('zsh', ['-f', '-c', TYPING, 'zsh', ...lines], {
    env,
    timeout: 25_000,
  })
  t.same(stdout.trim().split('\n'), expected)
})

t.test('a reader that goes away is no fault', async t => {
  const env = { ...COMPILED, PATH: process.env['PATH'] }
  const gone = `"${process.execPath}" "${MAIN}" --help | true; exit \${PIPESTATUS[0]}`
  await t.resolves(promisify(execFile)('bash', ['-c', gone], { env, cwd: '/' }))
})
