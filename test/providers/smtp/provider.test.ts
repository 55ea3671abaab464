import t from 'tap'
import { longestSmtpAttemptMs, SMTP_LIMITS } from '../../../src/providers/smtp/limits.ts'
import { createSmtpProvider, type SmtpSettings } from '../../../src/providers/smtp/provider.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import { type ContractRig, providerContract } from '../contract.ts'
import { createSmtpServer, LOGIN, SHORT, smtpSide, urlOf } from './rig.ts'

const certificate = await createTestCertificate()

async function start(secure: boolean): Promise<ContractRig> {
  const server = createSmtpServer({ login: LOGIN, certificate, secure })
  const { port } = await server.listen()
  const open = (url: string): ReturnType<typeof createSmtpProvider> => {
    const settings: SmtpSettings = {
      name: 'smtp',
      url: secure ? url.replace('smtp:', 'smtps:') : url,
      connections: 2,
      ehloName: 'courier.example.com',
      bounceTo: 'bounce@example.com',
      limits: SHORT,
      tls: { ca: certificate.cert },
    }
    return createSmtpProvider(settings)
  }
  const provider = open(urlOf(port))
  const wrongLogin = open(urlOf(port, { user: LOGIN.user, pass: 'canary-wrong-pass' }))
  const side = smtpSide(server)
  return {
    ...side,
    secrets: [...side.secrets, 'canary-wrong-pass'],
    provider,
    wrongLogin,
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), server.close()])
    },
  }
}

await t.test('SMTP with STARTTLS keeps the contract', async t =>
  providerContract(t, async () => start(false)),
)
await t.test('SMTP over TLS keeps the contract', async t => providerContract(t, async () => start(true)))

await t.test('a lease of seven minutes outlives the longest attempt', async t => {
  t.equal(longestSmtpAttemptMs(), 390_000)
  t.equal(SMTP_LIMITS.replyMs, 300_000)
})

await t.test('a wrong URL is named without its password', async t => {
  const url = 'http://courier:canary-pass@mail.example.com'
  const open = (): unknown =>
    createSmtpProvider({ name: 'smtp', url, ehloName: 'a.example', bounceTo: 'b@a.example' })
  t.throws(open, { name: 'TypeError', message: /must look like smtp:\/\// })
  try {
    open()
  } catch (error) {
    t.notMatch(String(error), /canary/)
  }
})
