import { createTestCertificate } from '../../rigs/certificate.ts'
import { ownHost } from '../../rigs/own-host.ts'
import { CLIENT, startTokenEndpoint } from '../../rigs/token-endpoint.ts'
import type { ContractRig } from '../contract.ts'
import { openTokens, USER } from './oauth2.ts'
import { createSmtpServer, LOGIN, openSmtp, SECRETS, smtpContract, urlOf } from './rig.ts'

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
  const wrong = { user: LOGIN.user, pass: 'canary-wrong-pass' }
  return {
    ...smtpContract(server, open(urlOf(port, LOGIN, host)), open(urlOf(port, wrong, host))),
    secrets: [...SECRETS, LOGIN.pass, 'canary-wrong-pass'],
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
  const contract = smtpContract(server, open(CLIENT.secret), open('canary-wrong-secret'))
  return {
    ...contract,
    // There is no password here that a server could repeat.
    secrets: [...SECRETS, CLIENT.secret, 'canary-wrong-secret', 'canary.access-token'],
    async end() {
      await Promise.all([contract.end(), endpoint.close()])
    },
  }
}

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'with STARTTLS': async () => start(false),
  'over TLS': async () => start(true),
  'with an access token': startWithToken,
}
