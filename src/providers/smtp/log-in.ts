import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import type { SmtpAuth } from './xoauth2.ts'

/** nodemailer knows no way to try a sender, but it runs a way to log in that it does not know, command by command. */
const SENDER = 'SENDER'

/** The command in an error about the sender, as nodemailer names that way. */
export const SENDER_COMMAND = `AUTH ${SENDER}`

/**
 * Connects, logs in, and names the sender as for a message, which is then called off: nothing is sent.
 * @param sender of the envelope.
 * @throws nodemailer's error of the first step that failed.
 */
export async function logIn(
  options: SMTPConnectionOptions,
  auth: SmtpAuth | undefined,
  sender: string,
): Promise<void> {
  const session = new SMTPConnection({
    ...options,
    customAuth: {
      ...options.customAuth,
      async [SENDER]({ sendCommand }) {
        const { status } = await sendCommand(`MAIL FROM:<${sender}>`)
        if (status !== 250) throw new Error('the sender is refused')
        await sendCommand('RSET')
      },
    },
  })
  try {
    await new Promise<void>((resolve, reject) => {
      const then = (next: () => void) => (error?: Error | null) => (error ? reject(error) : next())
      session.once('error', reject)
      session.once('end', () => reject(new Error('Connection closed')))
      const trySender = () => session.login({ method: SENDER }, then(resolve))
      const connected = () => {
        if (auth === undefined || !session.allowsAuth) trySender()
        else session.login({ ...auth }, then(trySender))
      }
      session.connect(then(connected))
    })
    session.quit()
  } finally {
    // An error of a connection that is over concerns nobody.
    session.on('error', () => {})
    session.close()
  }
}
