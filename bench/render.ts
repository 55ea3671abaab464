import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import MailComposer from 'nodemailer/lib/mail-composer'
import { sampleMessage, samples } from '../src/messages/samples.ts'
import { createRenderer, type Renderer } from '../src/words/render.ts'
import { atMost, type Figure, figure, formatFigures, ratio } from './figures.ts'

/** Processor time a finished mail may take, µs: nodemailer takes more to compose one that is rendered already. */
const MAIL_LIMIT_US = 300
const ROUNDS = 5
const PER_ROUND = 600

const create = (): Renderer =>
  createRenderer({
    brand: { name: 'Northwind', url: 'https://northwind.example', color: '#1f5fd0' },
    locale: 'en',
    mail: { from: 'Northwind <no-reply@northwind.example>', messageIdDomain: 'northwind.example' },
    sms: {},
  })

/** What a mail and an SMS cost to render, beside nodemailer composing the same mail, and what all languages hold in memory. */
export async function measureRendering(): Promise<Figure[]> {
  const heldMb = heldBy(create)
  const renderer = create()
  const messages = (channel: string) =>
    samples
      .filter(sample => sample.channel === channel)
      .flatMap(sample => renderer.locales.map(locale => sampleMessage(sample, locale)))
  const mails = messages('email')
  const texts = messages('sms')
  const parts = mails.map(message => renderer.viewMail(message))
  const compose = (i: number) => {
    const { subject, html, text } = parts[i % parts.length] ?? { subject: '', html: '', text: '' }
    const mail = {
      from: 'Northwind <no-reply@northwind.example>',
      to: 'lin.wei@example.com',
      subject,
      html,
      text,
    }
    return new MailComposer(mail).compile().build()
  }
  const render = (all: typeof mails) => (i: number) => {
    const message = all[i % all.length]
    if (message) renderer.render(message)
  }

  const ours: number[] = []
  const theirs: number[] = []
  const sms: number[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const [own, sent, composed] = [await time(render(mails)), await time(render(texts)), await time(compose)]
    if (round < 0) continue
    ours.push(own)
    sms.push(sent)
    theirs.push(composed)
  }
  return [
    atMost(MAIL_LIMIT_US, figure('a mail, rendered and composed', 'µs', ours)),
    figure('nodemailer, composing the same mail', 'µs', theirs),
    ratio('ours to nodemailer', ours, theirs),
    figure('an SMS', 'µs', sms),
    figure(`heap of ${renderer.locales.length} languages, every mail rendered once`, 'MB', [heldMb]),
  ]
}

/** Mean time of one call on the processor, µs: waiting for other processes does not count. */
async function time(work: (i: number) => unknown): Promise<number> {
  const start = process.cpuUsage()
  for (let i = 0; i < PER_ROUND; i++) await work(i)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / PER_ROUND
}

/** What a renderer holds on to once it has said everything, MB. */
function heldBy(make: () => Renderer): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // The first one also loads what all share.
  make()
  collect()
  const before = process.memoryUsage().heapUsed
  const renderer = make()
  for (const sample of samples)
    for (const locale of renderer.locales) renderer.render(sampleMessage(sample, locale))
  collect()
  const held = process.memoryUsage().heapUsed - before
  renderer.close()
  return held / 1e6
}

if (import.meta.main) process.stdout.write(`${formatFigures(await measureRendering())}\n`)
