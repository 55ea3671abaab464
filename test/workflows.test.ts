import { spawnSync } from 'node:child_process'
import { accessSync, constants, copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'

const ROOT = resolve(import.meta.dirname, '..')
const FOLDER = join(ROOT, '.github/workflows')

interface Step {
  readonly run?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Workflow {
  readonly on: unknown
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly Step[]; readonly 'timeout-minutes': number }>
  >
}

const workflows = readdirSync(FOLDER).map(name => ({
  name,
  workflow: parse(readFileSync(join(FOLDER, name), 'utf8')) as Workflow,
}))
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps)

t.test('the scripts that workflows call are here and can be run', async t => {
  const called = workflows.flatMap(({ workflow }) =>
    stepsOf(workflow).flatMap(({ run = '' }) => run.match(/\.ci\/[\w-]+/g) ?? []),
  )
  t.same([...new Set(called)].sort(), ['.ci/release-notes', '.ci/run'])
  for (const path of called) {
    t.doesNotThrow(() => accessSync(join(ROOT, path), constants.X_OK), path)
    t.equal(spawnSync('bash', ['-n', join(ROOT, path)]).status, 0, `${path} is bash`)
  }
})

t.test('each workflow says what it may do and how long, and takes actions by their version', async t => {
  for (const { name, workflow } of workflows) {
    t.ok(Object.keys(workflow.permissions).length > 0, name)
    for (const job of Object.values(workflow.jobs)) t.ok(job['timeout-minutes'] > 0, name)
    for (const { uses } of stepsOf(workflow)) if (uses !== undefined) t.match(uses, /^[\w-]+\/[\w-]+@v\d+$/)
    // What somebody else chose, such as the name of a branch, is never put into a script's text.
    for (const { run = '' } of stepsOf(workflow)) t.notMatch(run, /\$\{\{/, name)
  }
  const release = workflows.find(({ name }) => name === 'release.yml')?.workflow
  const image = release && stepsOf(release).find(({ uses }) => uses?.startsWith('docker/build-push-action@'))
  t.match(image?.with, {
    platforms: 'linux/amd64,linux/arm64',
    sbom: true,
    provenance: 'mode=max',
    push: true,
  })
  t.match(image?.with?.['build-args'], /^COMMIT=/)
})

/** Runs the script on a changelog of its own. */
function notesOf(t: Test, tag: string, changelog: string) {
  const folder = t.testdir({
    'CHANGELOG.md': changelog,
    'package.json': '{\n  "name": "x",\n  "version": "1.2.3",\n}\n',
  })
  mkdirSync(join(folder, '.ci'))
  copyFileSync(join(ROOT, '.ci/release-notes'), join(folder, '.ci/release-notes'))
  const { status, stdout, stderr } = spawnSync(join(folder, '.ci/release-notes'), [tag], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('the notes of a release are its section of CHANGELOG.md, and nothing else', async t => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\nlater\n\n## 1.2.3 - 2026-12-01\n\n### Added\n\n- this\n\n## 1.2.2\n\nbefore\n'
  t.same(notesOf(t, 'v1.2.3', changelog), { status: 0, stdout: '\n### Added\n\n- this\n', stderr: '' })
  t.match(notesOf(t, 'v1.2.4', changelog), {
    status: 1,
    stdout: '',
    stderr: /the tag is v1\.2\.4, the version .* 1\.2\.3/,
  })
  t.match(notesOf(t, 'v1.2.3', '## Unreleased\n\nx\n\n## 1.2.3\n\n## 1.2.2\n\ny\n'), {
    status: 1,
    stderr: /no section 1\.2\.3/,
  })
  t.match(notesOf(t, 'v1.2.3', '## Unreleased\n\nx\n'), { status: 1, stderr: /no section/ })
})
