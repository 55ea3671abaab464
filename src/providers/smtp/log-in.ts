import SMTPConnection, { type SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection'
import type { SmtpAuth } from './xoauth2.ts'

/**
 * The made-up way to log in under which a sender is tried: nodemailer cannot try one, but for a method that it does not know it runs
 * the commands that we give it.
 */
const SENDER = 'SENDER'

/** The command in nodemailer's error about the sender: it names the method. */
export const SENDER_COMMAND = `AUTH ${SENDER}`

/**
 * Connects, logs in, and names the sender as for a message, which is then called off: nothing is sent.
 * @param sender of the envelope.
 * @throws nodemailer's error of the first step that failed.
 */
export async function tryLogin(
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
    // An error of a connection that is over is ignored.
    session.on('error', () => {})
    session.close()
  }
}
