import { createSmtpProvider, type SmtpSettings } from '../../../src/providers/smtp/provider.ts'
import { createTestCertificate } from '../../rigs/certificate.ts'
import type { ContractRig } from '../contract.ts'
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

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'with STARTTLS': async () => start(false),
  'over TLS': async () => start(true),
}
