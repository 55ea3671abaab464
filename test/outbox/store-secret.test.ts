import promises, { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadStoreSecret } from '../../src/outbox/store-secret.ts'

t.test('one that is set is used, else one is made once, for the service’s user only', async t => {
  const file = join(t.testdir({}), 'deep', 'secret')
  t.equal(await loadStoreSecret({ secret: 'set by the operator', file }), 'set by the operator')
  await t.rejects(stat(file), { code: 'ENOENT' })
  const synced: unknown[] = []
  const { open } = promises
  t.capture(promises, 'open', async (...given: Parameters<typeof open>) =>
    Object.assign(await open(...given), { sync: async () => synced.push(given[0]) }),
  )
  syncBuiltinESMExports()
  const made = await loadStoreSecret({ file })
  t.match(made, /^[\w-]{43}$/)
  t.same(synced, [file, dirname(file)], 'both are on disk')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.equal(await loadStoreSecret({ file, secret: '' }), made, 'read at the next start')
  t.not(await loadStoreSecret({ file: `${file}2` }), made)
})

t.test('two that start together get the same', async t => {
  const file = join(t.testdir({}), 'secret')
  const secrets = await Promise.all(Array.from({ length: 6 }, () => loadStoreSecret({ file })))
  t.equal(new Set(secrets).size, 1)
  t.equal((await readFile(file, 'utf8')).trim(), secrets[0])
  // A file that is cut short is not taken for a secret.
  await writeFile(file, `${'s'.repeat(42)}\n`)
  await t.rejects(loadStoreSecret({ file }), { name: 'StoreUnusable', message: /cut short/ })
})

t.test('a place that cannot be written is named', async t => {
  const directory = t.testdir({ file: 'in the way' })
  const file = join(directory, 'file', 'secret')
  t.equal(
    await loadStoreSecret({ file }).catch(String),
    `StoreUnusable: the store's secret ${file} can be neither read nor made (ENOTDIR): make its directory writable for the service's user, or set STORE_SECRET`,
  )
  await symlink(join(directory, 'nowhere', 'else'), join(directory, 'gone'))
  await t.rejects(loadStoreSecret({ file: join(directory, 'gone', 'secret') }), {
    name: 'StoreUnusable',
    message: /secret can be neither read nor made \(ENOENT\)/,
  })
})
