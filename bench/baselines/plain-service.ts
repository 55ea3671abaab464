import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { createTransport } from 'nodemailer'
import twilio from 'twilio'

/**
 * What somebody would write in an afternoon: takes the same callbacks, and passes each on with nodemailer or Twilio's SDK
 * while the platform waits. It checks nothing and stores nothing.
 */
interface Body {
  readonly to: string
  readonly subject?: string
  readonly area_code?: string
  readonly email_param?: { readonly code: string }
  readonly sms_param?: { readonly code: string }
}

const { env } = process
const transport = createTransport(env['SMTP_URL'] ?? '', { from: env['MAIL_FROM'] })
const client = twilio(env['TWILIO_ACCOUNT_SID'], env['TWILIO_AUTH_TOKEN'], {
  ca: readFileSync(env['NODE_EXTRA_CA_CERTS'] ?? '', 'utf8'),
})
client.api.baseUrl = env['TWILIO_API_URL'] ?? ''

const app = Fastify({
  logger: true,
  https: {
    key: readFileSync(env['TLS_KEY_FILE'] ?? ''),
    cert: readFileSync(env['TLS_CERT_FILE'] ?? ''),
  },
})

app.post<{ Body: Body }>('/callback/:corp/:key/email', async ({ body: { to, subject, email_param } }) => {
  const text = `Your code is ${email_param?.code}.`
  await transport.sendMail({ to, subject, text, html: `<p>${text}</p>` })
  return { err_code: 0, err_msg: '' }
})

app.post<{ Body: Body }>('/callback/:corp/:key/sms', async ({ body: { to, area_code, sms_param } }) => {
  await client.messages.create({
    to: `+${area_code}${to}`,
    from: env['TWILIO_FROM'],
    body: `Your code is ${sms_param?.code}.`,
  })
  return { err_code: 0, err_msg: '' }
})

await app.listen({ host: env['HOST'], port: Number(env['PORT']) })
app.log.info({ event: 'started' })
