import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { OutgoingMail } from '../../../src/messages/message.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { createSmtpProvider, type SmtpSettings } from '../../../src/providers/smtp/provider.ts'
import {
  createSmtpServer,
  type SmtpAct,
  type SmtpServer,
  type SmtpServerOptions,
  type SmtpStep,
} from '../../rigs/smtp-server.ts'
import type { Behaviour, ContractRig } from '../contract.ts'
import { SHORT_SMTP } from '../short.ts'
import { outgoingSms } from '../sms.ts'

export const RECIPIENT = 'canary.reader@example.com'
export const CODE = '90817263'
export const LINK = 'https://platform.example/activate#!canaryLink'
const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = KEY.export({ type: 'pkcs8', format: 'pem' }).toString()
export const DKIM = { domain: 'example.com', selector: 's1', privateKey: PEM }
export const LOGIN = { user: 'courier', pass: 'canary-smtp-pass#%' }

export function mail(to = RECIPIENT): OutgoingMail {
  const id = randomBytes(16).toString('hex')
  const raw = Buffer.from(
    [
      `Message-ID: <${id}@example.com>`,
      `To: ${to}`,
      'Subject: code',
      '',
      `${CODE} ${LINK}`,
      '.',
      '..',
      '',
    ].join('\r\n'),
  )
  const content = { params: {}, words: 'ours' } as const
  return { channel: 'email', id, to, raw, content, expiresAt: Date.now() + 600_000 }
}

export const SMS = outgoingSms()

export function idOf(wire: Buffer): string {
  return /^Message-ID: <([0-9a-f]{32})@/m.exec(wire.toString())?.[1] ?? ''
}

export function urlOf(port: number, { user, pass } = LOGIN, host = '127.0.0.1'): string {
  return `smtp://${encodeURIComponent(user)}:${encodeURIComponent(pass)}@${host}:${port}`
}

/** A provider with one connection, unless `settings` says otherwise. */
export function openSmtp(settings: Partial<SmtpSettings> & Pick<SmtpSettings, 'url'>): Provider {
  return createSmtpProvider({
    name: 'smtp',
    connections: 1,
    ehloName: 'courier.example.com',
    bounceTo: 'bounce@example.com',
    limits: SHORT_SMTP,
    ...settings,
  })
}

/** A server, and a provider that asks of it the TLS and the login which it has, unless `url` says otherwise. */
export async function startSmtp(
  t: Test,
  options: SmtpServerOptions = {},
  { url, ...settings }: Omit<Partial<SmtpSettings>, 'url'> & { readonly url?: (port: number) => string } = {},
) {
  const server = createSmtpServer(options)
  const { port } = await server.listen()
  const host = options.login ? urlOf(port) : `smtp://127.0.0.1:${port}`
  const usual = `${options.secure ? host.replace('smtp:', 'smtps:') : host}${options.certificate ? '' : '?ignoreTLS=true'}`
  const provider = openSmtp({ url: url?.(port) ?? usual, ...settings })
  t.teardown(async () => Promise.all([provider.close(), server.close()]))
  const send = async (message = mail()) => provider.send(message, new AbortController().signal)
  return { server, provider, send }
}

const ECHO = `<${RECIPIENT}>: ${CODE} ${LINK} ${LOGIN.pass}`
const ACTS: Readonly<Record<Exclude<Behaviour, 'well'>, readonly [SmtpStep, SmtpAct]>> = {
  'refuse-recipient': ['RCPT', { is: 'say', reply: `550-5.1.1 no such user\r\n550 5.1.1 ${ECHO}` }],
  'refuse-content': ['dot', { is: 'say', reply: `554 5.6.0 ${ECHO}` }],
  'refuse-for-now': ['RCPT', { is: 'say', reply: `451 4.7.1 ${ECHO}` }],
  'stall-after-message': ['dot', { is: 'stall', accept: true }],
  'drop-after-message': ['dot', { is: 'drop', accept: true }],
  garbage: ['MAIL', { is: 'say', reply: `I\u0007 do not speak SMTP ${ECHO}` }],
}

/** What a mail says, and whom it is for. */
export const SECRETS = [RECIPIENT, 'canary.reader', CODE, LINK, 'canaryLink']

export function smtpContract(server: SmtpServer, provider: Provider, wrongLogin: Provider): ContractRig {
  return {
    provider,
    wrongLogin,
    message: mail,
    foreign: SMS,
    secrets: [...SECRETS, LOGIN.pass],
    arrived: () => server.mails.map(({ wire }) => idOf(wire)),
    sockets: () => server.openConnections(),
    behave(how) {
      const [step, act] = how === 'well' ? [] : ACTS[how]
      server.act = act && (moment => (moment.step === step ? act : undefined))
    },
    goDown: async () => server.close(),
    async end() {
      await Promise.all([provider.close(), wrongLogin.close(), server.close()])
    },
  }
}

export { createSmtpServer }
