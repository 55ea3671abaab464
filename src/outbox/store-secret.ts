import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { say } from '../language/sentence.ts'
import { retry } from '../runtime/retry.ts'
import { StoreUnusable } from './outbox.ts'

/** Characters of a secret that is made here: 32 random bytes as base64url. */
const SECRET_LENGTH = 43

/**
 * Loads the secret that the store's keys are derived from: the one that was set, or the one in a file beside the embedded store,
 * which is made at the first start. Without it the messages that wait cannot be read, so it is on disk before it is used.
 *
 * @param options.secret STORE_SECRET, when it is set.
 * @param options.file where to keep one that is made; only the service's own user may read it.
 * @throws StoreUnusable when the file can be neither read nor made, or holds no secret.
 */
export async function loadStoreSecret(options: {
  readonly secret?: string | undefined
  readonly file: string
}): Promise<string> {
  const { secret, file } = options
  if (secret !== undefined && secret !== '') return secret
  try {
    return (await readSecret(file)) ?? (await createSecret(file))
  } catch (error) {
    if (error instanceof StoreUnusable) throw error
    const { code = 'unknown fault' } = error as NodeJS.ErrnoException
    const remedy =
      code === 'ENOSPC'
        ? say('make room on its disk')
        : say("make its directory writable for the service's user")
    throw new StoreUnusable(
      say("the store's secret {file} can be neither read nor made ({code}): {remedy}, or set STORE_SECRET", {
        file,
        code,
        remedy,
      }),
      { cause: error },
    )
  }
}

/** Reads the secret in a file beside the embedded store; null: there is none. @throws StoreUnusable when it is cut short. */
export async function readSecret(file: string): Promise<string | null> {
  let text: string
  try {
    text = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (text.length >= SECRET_LENGTH) return text
  throw new StoreUnusable(
    say(
      "the store's secret {file} is cut short: restore it from a backup, or remove it if nothing that waits in the store matters",
      { file },
    ),
  )
}

async function createSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true })
  const secret = randomBytes(32).toString('base64url')
  let handle: FileHandle
  try {
    // 'wx' is O_EXCL: of two processes that start together, one makes it and the other reads it.
    handle = await open(file, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return await awaitSecretOfAnother(file)
  }
  try {
    await handle.writeFile(`${secret}\n`)
    await handle.sync()
  } catch (error) {
    await unlink(file).catch(() => {})
    throw error
  } finally {
    await handle.close()
  }
  await syncDirectory(dirname(file))
  return secret
}

/** Waits until the other process has written the secret that it is making; a whole second is plenty. */
function awaitSecretOfAnother(file: string): Promise<string> {
  return retry(
    async () => {
      const text = await readSecret(file)
      if (text !== null) return text
      throw new StoreUnusable(
        say("the store's secret {file} was made and removed again: start once more", { file }),
      )
    },
    (_error, tries) => (tries > 20 ? null : 50),
  )
}

/** Syncs a directory: a new file survives a power loss only once its directory is on disk too. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
