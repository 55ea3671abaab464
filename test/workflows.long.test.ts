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

const workflows = readdirSync(FOLDER).map(name => {
  const text = readFileSync(join(FOLDER, name), 'utf8')
  return { name, text, workflow: parse(text) as Workflow }
})
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps)

t.test('the scripts that workflows call are here and can be run', async t => {
  const called = workflows.flatMap(({ workflow }) =>
    stepsOf(workflow).flatMap(({ run = '' }) => run.match(/\.ci\/[\w-]+/g) ?? []),
  )
  t.same([...new Set(called)].sort(), ['.ci/image-tags', '.ci/release-notes', '.ci/run'])
  for (const path of called) {
    t.doesNotThrow(() => accessSync(join(ROOT, path), constants.X_OK), path)
    t.equal(spawnSync('bash', ['-n', join(ROOT, path)]).status, 0, `${path} is bash`)
  }
})

t.test('each workflow says what it may do and how long', async t => {
  for (const { name, workflow } of workflows) {
    t.ok(Object.keys(workflow.permissions).length > 0, name)
    for (const job of Object.values(workflow.jobs)) t.ok(job['timeout-minutes'] > 0, name)
    // What somebody else chose, such as the name of a branch, is never put into a script's text.
    for (const { run = '' } of stepsOf(workflow)) t.notMatch(run, /\$\{\{/, name)
  }
  const release = workflows.find(({ name }) => name === 'release.yml')?.workflow
  const image = release && stepsOf(release).find(({ uses }) => uses?.startsWith('docker/build-push-action@'))
  t.match(image?.with, {
    platforms: 'linux/amd64,linux/arm64',
    sbom: /^generator=/,
    provenance: 'mode=max',
    push: true,
  })
  const filled = String(image?.with?.['build-args']).match(/^\w+/gm)
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  t.same(filled, ['COMMIT', 'VERSION', 'SOURCE'])
  for (const name of filled ?? []) t.match(dockerfile, new RegExp(`^ARG ${name}=\n`, 'm'))
  const labels = [...dockerfile.matchAll(/image\.(\w+)=(\S+)/g)].map(([, name, value]) => `${name} ${value}`)
  t.same(labels, [
    'title callback-courier',
    'licenses MIT',
    'version $VERSION',
    'source $SOURCE',
    'revision $COMMIT',
  ])
})

t.test('what a workflow runs of others is fixed, whatever a tag comes to point to', async t => {
  const images: string[] = []
  for (const { name, text, workflow } of workflows) {
    for (const line of text.split('\n').filter(line => /\buses:/.test(line)))
      t.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${line.trim()}`)
    for (const { uses = '', with: inputs } of stepsOf(workflow)) {
      // Unless told otherwise these run the newest image of a tag, the first with all rights.
      const image = {
        'docker/setup-qemu-action': inputs?.['image'],
        'docker/setup-buildx-action': inputs?.['driver-opts'],
        'docker/build-push-action': inputs?.['sbom'],
      }[uses.replace(/@.*/, '')]
      if (typeof image === 'string') images.push(image.replace(/^\w+=/, ''))
    }
  }
  t.equal(images.length, 3)
  for (const image of images) t.match(image, /^[\w/-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
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

t.test('an image has the tags that no newer release has', async t => {
  const released = 'v1.0.0\nv1.1.0\nv1.2.0\nv1.2.9\nv1.10.0-rc.1\nnightly\n'
  const tagsOf = (tag: string) =>
    spawnSync(join(ROOT, '.ci/image-tags'), [tag], { input: released, encoding: 'utf8' })
      .stdout.trim()
      .split('\n')
  t.same(tagsOf('v1.2.10'), ['1.2.10', '1.2', '1', 'latest'])
  t.same(tagsOf('v1.1.5'), ['1.1.5', '1.1'], 'a mended older version')
  t.same(tagsOf('v1.2.0'), ['1.2.0'], 'once more')
  t.same(tagsOf('v2.0.0'), ['2.0.0', '2.0', '2', 'latest'])
  t.same(tagsOf('v1.3.0-rc.1'), ['1.3.0-rc.1'])
})
