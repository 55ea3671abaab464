import { randomSecret } from '../random-secret.ts'
import type { StandInModule } from '../stand-in.ts'
import { MAIL_FAULTS } from './faults.ts'
import { createInbox } from './inbox.ts'

export const SMTP_USER = 'courier'

/** A mail server that takes every mail and keeps it. */
export const standIn: StandInModule = {
  title: 'Mail server',
  faults: MAIL_FAULTS,
  async start({ certificate, clock, changed }) {
    const account = { user: SMTP_USER, password: randomSecret() }
    const inbox = await createInbox({ certificate, clock, account, onMail: changed })
    return {
      channel: 'email',
      url: `smtp://127.0.0.1:${inbox.port}`,
      settings: { SMTP_URL: `smtp://${account.user}:${account.password}@127.0.0.1:${inbox.port}` },
      mails: inbox.mails,
      setFault: name => inbox.setFault(MAIL_FAULTS[name]?.fault ?? null),
      clear: inbox.clear,
      close: inbox.close,
    }
  },
}
