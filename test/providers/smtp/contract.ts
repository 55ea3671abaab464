import { createTestCertificate } from '../../rigs/certificate.ts'
import { ownHost } from '../../rigs/own-host.ts'
import { CLIENT, startTokenEndpoint } from '../../rigs/token-endpoint.ts'
import type { ContractRig } from '../contract.ts'
import { openTokens, USER } from './oauth2.ts'
import { createSmtpServer, LOGIN, openSmtp, smtpSide, urlOf } from './rig.ts'

async function start(secure: boolean): Promise<ContractRig> {
  const host = ownHost()
  const certificate = await createTestCertificate({ name: host })
  const server = createSmtpServer({ host, login: LOGIN, certificate, secure })
  const { port } = await server.listen()
  const open = (url: string) =>
    openSmtp({
      url: secure ? url.replace('smtp:', 'smtps:') : url,
      connections: 2,
      tls: { ca: certificate.cert },
    })
  const provider = open(urlOf(port, LOGIN, host))
  const wrongLogin = open(urlOf(port, { user: LOGIN.user, pass: 'canary-wrong-pass' }, host))
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

async function startWithToken(): Promise<ContractRig> {
  const endpoint = await startTokenEndpoint({ expiresIn: 3600 })
  const takes = (user: string, token: string) => user === USER && endpoint.issued.includes(token)
  const host = ownHost()
  const certificate = await createTestCertificate({ name: host })
  const server = createSmtpServer({ host, xoauth2: { takes }, certificate })
  const { port } = await server.listen()
  const open = (secret: string) =>
    openSmtp({
      url: `smtp://${encodeURIComponent(USER)}@${host}:${port}`,
      connections: 2,
      accessTokens: openTokens(endpoint, { secret }),
      tls: { ca: certificate.cert },
    })
  const provider = open(CLIENT.secret)
  const wrongLogin = open('canary-wrong-secret')
  const side = smtpSide(server)
  return {
    ...side,
    // There is no password here that a server could repeat.
    secrets: [
      ...side.secrets.filter(each => each !== LOGIN.pass),
      CLIENT.secret,
      'canary-wrong-secret',
      'canary.access-token',
    ],
    provider,
    wrongLogin,
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), server.close(), endpoint.close()])
    },
  }
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'with STARTTLS': async () => start(false),
  'over TLS': async () => start(true),
  'with an access token': startWithToken,
}
