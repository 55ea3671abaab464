import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/config.ts'
import { judgeUnreadable } from '../../src/runtime/fault.ts'
import { findFileFaults } from '../../src/service/files.ts'
import { startService } from '../../src/service/service.ts'
import { describeFault, enough } from '../config/settings.ts'
import { inEnglish } from '../language/english.ts'
import { createTestCertificate } from '../rigs/certificate.ts'

const readFile = (path: string) => readFileSync(path, 'utf8')
const failing = (code: string) => Object.assign(new Error(code), { code })

/** What a start says, a line a fault. */
async function refusal(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  try {
    const service = await startService({ ...enough, PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'silent', ...env })
    await service.close()
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.faults.map(describeFault)
  }
}

function folder(t: Test, files: Readonly<Record<string, string>>): (name: string) => string {
  const directory = t.testdir(files)
  return name => join(directory, name)
}

const rsa = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()
const dkim = { DKIM_NAME: 's1._domainkey.example.com' }

t.test('a start says all that is wrong at once: settings, and every file that they name', async t => {
  const path = folder(t, { 'dkim.pem': 'nonsense', 'ca.pem': 'nonsense' })
  const said = await refusal({
    ...dkim,
    BRAND_COLOR: 'red',
    TLS: 'on',
    TLS_CERT_FILE: path('absent.pem'),
    TLS_KEY_FILE: path('.'),
    DKIM_KEY_FILE: path('dkim.pem'),
    SMTP_CLIENT_CERT_FILE: path('dkim.pem'),
    TLS_CA_FILE: path('ca.pem'),
    TEMPLATES_DIR: path('absent'),
    TWILIO_AUTH_TOKEN: '',
    TWILIO_AUTH_TOKEN_FILE: path('none'),
    DATABASE_URL: `file:${path('./')}`,
  })
  const absent =
    'cannot be read (ENOENT): it is not there; in a container the path is the one inside, of a folder that is mounted'
  t.same([...said].sort(), [
    'BRAND_COLOR must be six hex digits such as 1f5fd6',
    `DATABASE_URL names ${path('./')}, which is a directory: name a file in it, such as file:${path('outbox.db')}`,
    'DKIM_KEY_FILE holds no private key in PEM without a passphrase: mails would go out unsigned',
    'SMTP_CLIENT_CERT_FILE holds no certificate and its key, in PEM and without a passphrase: no mail server would know us by it',
    `TEMPLATES_DIR names ${path('absent')}, which ${absent}`,
    'TLS_CA_FILE holds no certificate in PEM, or a damaged one: look at it',
    `TLS_CERT_FILE names ${path('absent.pem')}, which ${absent}`,
    `TLS_KEY_FILE names ${path('.')}, which cannot be read (EISDIR): it is a folder; name the file in it`,
    `TWILIO_AUTH_TOKEN is given by TWILIO_AUTH_TOKEN_FILE, but that file ${absent}`,
  ])
  t.notMatch(said.join('\n'), 'nonsense')
  t.notOk(existsSync(path('store.secret')), 'and nothing is left behind')
})

t.test('a pair that is none, and a DKIM key of another kind', async t => {
  const one = await createTestCertificate()
  const two = await createTestCertificate()
  const { privateKey } = generateKeyPairSync('ed25519')
  const path = folder(t, {
    'cert.pem': one.cert,
    'key.pem': two.key,
    'dkim.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  })
  const files = { TLS: true, TLS_CERT_FILE: path('cert.pem'), TLS_KEY_FILE: path('key.pem') }
  const alone = { DKIM_KEY_FILE: path('dkim.pem'), SMTP_CLIENT_CERT_FILE: path('cert.pem') }
  t.same(findFileFaults({ ...files, ...alone }, readFile).map(describeFault), [
    'TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE',
    'DKIM_KEY_FILE holds no RSA key: receivers check nothing else reliably',
    'SMTP_CLIENT_CERT_FILE holds no certificate and its key, in PEM and without a passphrase: no mail server would know us by it',
  ])
  t.match(findFileFaults({ TEMPLATES_DIR: path('key.pem') }, readFile).map(describeFault), [
    /^TEMPLATES_DIR names .*key\.pem, which cannot be read \(ENOTDIR\): look at its path/,
  ])
  const area = { DEFAULT_AREA_CODE: '999' }
  t.same(findFileFaults({ ...area, SMS_TOKEN: 'x' }, readFile).map(describeFault), [
    'DEFAULT_AREA_CODE is no country calling code: set one such as 86 or 1',
  ])
  t.same(findFileFaults(area, readFile), [], 'without SMS nobody reads it')
  const elsewhere = { TEMPLATES_DIR: path('absent'), DATABASE_URL: { kind: 'postgres', url: '' } } as const
  t.match(findFileFaults(elsewhere, readFile), [{ name: 'TEMPLATES_DIR' }], 'wherever the store is')
  t.same(findFileFaults({ ...files, TLS: false }, readFile), [], 'what is not used is not tried')
  // It holds a key alone.
  t.match(findFileFaults({ ...files, TLS_CERT_FILE: path('key.pem') }, readFile), [{ name: 'TLS_CERT_FILE' }])
  writeFileSync(path('key.pem'), one.key)
  mkdirSync(path('words'))
  writeFileSync(path('dkim.pem'), rsa())
  writeFileSync(path('both.pem'), `${one.cert}\n${one.key}`)
  const right = { DKIM_KEY_FILE: path('dkim.pem'), SMTP_CLIENT_CERT_FILE: path('both.pem') }
  t.same(findFileFaults(right, readFile), [])
  t.same(
    findFileFaults({ ...files, TLS_CA_FILE: path('cert.pem'), TEMPLATES_DIR: path('words') }, readFile),
    [],
  )
})

t.test('a key that stands where its file is to be named is not repeated', async t => {
  const pem = rsa()
  const [said = '', ...more] = await refusal({ ...dkim, DKIM_KEY_FILE: pem })
  t.match(said, /^DKIM_KEY_FILE holds PEM, and must name the file that does: write it into a file$/)
  t.same(more, [])
})

t.test('who may not read a file is told who that is, and what to do', async t => {
  t.match(inEnglish(judgeUnreadable(failing('EACCES'), 1000)), {
    problem: 'cannot be read (EACCES)',
    remedy: /user 1000.*chown 1000/,
  })
  const refused = () => {
    throw failing('EACCES')
  }
  const [fault] = findFileFaults({ TLS_CA_FILE: '/certs/ca.pem' }, refused)
  t.match(inEnglish(fault), {
    problem: /^names \/certs\/ca\.pem, which/,
    remedy: new RegExp(`^the service runs as user ${process.getuid?.()},`),
  })
  t.match(inEnglish(judgeUnreadable(failing('EIO'))), {
    problem: 'cannot be read (EIO)',
    remedy: /^look at its path/,
  })
  t.match(String(judgeUnreadable('?').problem), /unknown fault/)
})
