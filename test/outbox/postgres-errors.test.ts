import t from 'tap'
import { quote } from '../../src/language/sentence.ts'
import { ValuesRefused } from '../../src/outbox/operations.ts'
import { StoreUnavailable } from '../../src/outbox/outbox.ts'
import { adviseOnFailure, classifyPostgresError, toError } from '../../src/outbox/postgres/connect.ts'

const failure = (code: string, more: object = {}) => Object.assign(new Error('in words'), { code, ...more })

t.test('what a failure of the database means for a call', async t => {
  for (const [means, codes] of [
    // A statement that its session has lost, a connection, a rollback, a server that ends or starts, a limit of time.
    ['again', ['26000', '42P05', '08006', '40001', '40P01', '57P01', '57P02', '57P03', '57P05', '25P03']],
    ['again', ['ECONNRESET', 'EPIPE']],
    // A full disk, no memory, a right that was taken away, a statement that took too long, a standby.
    ['unavailable', ['53100', '53200', '42501', '57014', '25006', 'XX001']],
    ['refused', ['22021', '22P05', '23502', '23514']],
    [null, ['42601', '42703', '23505']],
  ] as const)
    for (const code of codes) t.equal(classifyPostgresError(failure(code)), means, code)
  t.equal(classifyPostgresError(failure('23505', { table: 'courier_quota_counters' })), 'again')
  t.equal(classifyPostgresError(new StoreUnavailable(quote('away'))), 'unavailable')
  t.equal(classifyPostgresError(new Error('Connection terminated')), 'again', 'of the client itself')
  t.equal(classifyPostgresError(new TypeError('a bug')), null)
})

t.test('its words are told, but not those that would quote a value', async t => {
  const [refused, bug, away] = [failure('22021'), failure('42601'), failure('53100')].map(toError)
  t.match(refused, { constructor: ValuesRefused, message: 'the database cannot hold it (22021)' })
  t.match(bug, { constructor: Error, message: 'a fault in the store: in words' })
  t.match(away, { constructor: StoreUnavailable, message: 'the store cannot commit now: in words' })
})

t.test('a start that failed: what the operator can do, and whether it is waited for', async t => {
  const login =
    'the database refuses our login: look at user and password in DATABASE_URL, and at pg_hba.conf'
  const notPostgres =
    'the database does not know what Postgres 15 knows: name a Postgres 15 or later (docs/replicas.md says what is used of it)'
  const trust = (code: string) =>
    `the database's certificate is not trusted (${code}): add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL, with its authority's certificate`
  const noAnswer = 'the database does not answer: look at host and port in DATABASE_URL, and whether it runs'
  for (const [error, advice, passes] of [
    [failure('28P01'), login, false],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), login, false],
    [failure('3D000'), 'the database named in DATABASE_URL does not exist: create it', false],
    [
      failure('42501'),
      'the user of DATABASE_URL may not create tables: make it the owner of its database or schema',
      false,
    ],
    [failure('0A000'), notPostgres, false],
    [failure('42883'), notPostgres, false],
    [
      failure('53300'),
      'the database has no connection left: a replica needs 7; raise max_connections, or end what holds them',
      false,
    ],
    [
      failure('25006'),
      'DATABASE_URL leads to a standby, which can only be read: name the primary, or all hosts with target_session_attrs=read-write',
      false,
    ],
    [failure('SELF_SIGNED_CERT_IN_CHAIN'), trust('SELF_SIGNED_CERT_IN_CHAIN'), false],
    [failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), trust('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), false],
    [failure('ENOENT', { syscall: 'open' }), trust('ENOENT'), false],
    [
      new Error('The server does not support SSL connections'),
      'the database does not speak TLS: set ssl = on there, or sslmode=disable in DATABASE_URL on a network of your own',
      false,
    ],
    [failure('57P03'), 'the database cannot be used now (57P03): look at its log', true],
    [failure('08006'), 'the database cannot be used now (08006): look at its log', true],
    [failure('42703'), 'the database cannot be used now (42703): look at its log', false],
    [failure('ECONNREFUSED'), noAnswer, true],
    [failure('ENOENT', { syscall: 'connect' }), noAnswer, true],
    [new Error('timeout expired'), noAnswer, true],
    [new StoreUnavailable(quote('away')), noAnswer, true],
    [new TypeError('a bug'), noAnswer, false],
  ] as const)
    t.match(adviseOnFailure(error), { name: 'StoreUnusable', message: advice, passes, cause: error }, advice)
})
