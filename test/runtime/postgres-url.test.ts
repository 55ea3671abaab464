import t from 'tap'
import { readPostgresUrl } from '../../src/runtime/postgres-url.ts'

t.test('a URL that names several hosts is one for each, as the driver reads it', async t => {
  const query = '?target_session_attrs=read-write&sslmode=disable'
  t.same(readPostgresUrl(` postgres://a:b@one:5432,127.0.0.1/db${query}`), {
    hosts: [
      { url: 'postgres://a:b@one:5432/db?sslmode=disable', isHere: false },
      { url: 'postgres://a:b@127.0.0.1/db?sslmode=disable', isHere: true },
    ],
    target: 'read-write',
    saysTls: true,
  })
  const hosts = [{ url: 'postgresql://localhost', isHere: true }]
  t.same(readPostgresUrl('postgresql://localhost'), { hosts, target: undefined, saysTls: false })
  for (const text of ['mysql://one/db', 'postgres:///db', 'postgres://one,/db'])
    t.equal(readPostgresUrl(text), null)
})
