import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { openGround } from '../chaos/ground.ts'
import { startPlatform } from '../chaos/platform.ts'
import { type Replica, startReplica } from '../chaos/replica.ts'
import type { Judgement, Row } from '../faults/checker.ts'
import type { Answered } from '../faults/driver.ts'
import { backlogOf, pause } from '../faults/stage.ts'
import { until } from '../rigs/service.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Of the release under test. */
export const MAIN = join(ROOT, 'src/main.ts')

/**
 * The release before this one, from the repository: the last tag, or the commit that `PREVIOUS` names. It runs with this
 * one's packages, or with its own where they have changed. @returns its `src/main.ts`; null: there is none yet.
 */
export function checkOutPrevious(
  directory: string,
): { readonly release: string; readonly main: string } | null {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e9 })
  let release = process.env['PREVIOUS']
  try {
    release ??= git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^').toString().trim()
  } catch {
    return null
  }
  mkdirSync(directory)
  const files = ['src', 'package.json', 'package-lock.json', '.npmrc']
  execFileSync('tar', ['-x', '-C', directory], { input: git('archive', release, ...files) })
  const packagesOf = (folder: string) =>
    JSON.stringify(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies)
  if (packagesOf(directory) === packagesOf(ROOT))
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  else
    execFileSync('npm', ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts'], {
      cwd: directory,
      stdio: 'ignore',
    })
  return { release, main: join(directory, 'src/main.ts') }
}

export interface UpdateOptions {
  readonly databaseUrl: string
  /** How many processes share it. */
  readonly processes: number
  /** `src/main.ts` of the release that they are at first. */
  readonly first: string
  readonly settings?: Readonly<Record<string, string>>
  /** Updates them, under load. */
  readonly update: (replicas: readonly Replica[]) => Promise<void>
  /** Where callbacks go instead of to the processes themselves. */
  readonly front?: { readonly publicUrl: string }
  readonly rows: () => Promise<readonly Row[]>
}

export interface Updated extends Judgement {
  readonly posts: readonly Answered[]
  /** Lines of the logs that must not be. */
  readonly faults: readonly string[]
}

/** Runs processes on one store under load while they are updated; then rest. Joins answers, arrivals and rows. */
export async function runUpdate(t: Test, options: UpdateOptions): Promise<Updated> {
  const { databaseUrl, first, front } = options
  const ground = await openGround(() => Math.random() * 40)
  t.teardown(() => ground.close())
  const env = { ...ground.settings(databaseUrl), DRAIN_SECONDS: '3', ...options.settings }
  const faults: string[] = []
  const heard = (line: Readonly<Record<string, unknown>>) => {
    if (line['event'] === 'fault' || line['event'] === 'store-loss') faults.push(JSON.stringify(line))
  }
  const replicas = Array.from({ length: options.processes }, () => startReplica({ env, heard, main: first }))
  t.teardown(() => Promise.all(replicas.map(each => each.destroy())))
  await until(() => replicas.every(each => each.ready()), 'all are ready')
  const behind = front && { at: () => ({ ...front, adminUrl: '' }), ready: () => true }
  const platform = startPlatform({
    replicas: behind === undefined ? replicas : [behind],
    ca: ground.pem.cert,
    callers: { email: 4, sms: 3 },
    thinkMs: 100,
    random: Math.random,
    answerMs: 20_000,
  })
  await pause(500)
  await options.update(replicas)
  await pause(500)
  await platform.stop()
  await until(async () => (await backlogOf(replicas[0]?.at()?.adminUrl ?? '')) === 0, 'all is sent')
  await Promise.all(replicas.map(each => each.end()))
  const posts = platform.record
  return { ...ground.judge(posts, await options.rows()), posts, faults }
}

/** What must hold after any update. */
export function nothingLost(
  t: Test,
  { breaches, faults, lost, copies, unknown, answered, delivered }: Updated,
): void {
  t.same(breaches, [])
  t.same(faults, [])
  t.same(
    { lost, copies, unknown, undelivered: answered - delivered },
    { lost: 0, copies: 0, unknown: 0, undelivered: 0 },
  )
  t.ok(answered > 40, `${answered} answered`)
}

/** Callbacks that were refused, or got no answer. */
export const refusedOf = ({ posts }: Updated) =>
  posts.filter(({ status, errCode }) => status !== 200 || errCode !== 0)
