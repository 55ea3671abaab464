import t from 'tap'
import { countSegments } from '../../src/messages/sms-segments.ts'
import { createEngine } from '../../src/words/template-engine.ts'
import { messageOf, rendererFor, smsOf } from './rendering.ts'

const renderer = rendererFor()
t.teardown(() => renderer.close())

t.test('an alarm arrives with its value and unit, in one segment of plain letters', async t => {
  const params = { device: '1144502133', condition: 'Temperature above -15 °C for 5 minutes' }
  const text = smsOf(renderer, messageOf('sms', 'device-alert', { params }, { purpose: 'alarm' }))
  t.match(text, 'Temperature above -15 degC for 5 minutes')
  t.strictSame(countSegments(text).encoding, 'GSM-7')
  t.equal(countSegments(text).segments, 1)
})

t.test('of a long alarm the current value stays, in every language', async t => {
  const condition = 'Temperature of the second compressor above its limit for more than five minutes'
  const params = { device: '1144502133', condition, current: '-11.5 °C', time: '2026-11-20 14:32:05 UTC' }
  for (const locale of renderer.locales) {
    const text = smsOf(renderer, messageOf('sms', 'device-alert', { params, locale }, { purpose: 'alarm' }))
    t.match(text, /-11\.5/, `${locale}: ${text}`)
    t.notMatch(text, /[:：] *\u200e*[,，،(（]/, `${locale}: nothing is announced that was cut`)
    t.equal(countSegments(text).segments, 1, locale)
  }
})

t.test('words are shortened at a value, never inside one', async t => {
  const shorten = (text: string, most: number, said = `: ${most}`) =>
    createEngine('none').compile(`{{ text | truncate${said} }}`, new Set(['text']))({ text })
  const text = 'Temperature above -15 °C for 5 minutes'
  for (let most = 0; most < text.length; most += 1) {
    const short = shorten(text, most)
    t.ok(short.length <= most, `${most}: ${short}`)
    t.notMatch(short, /\d\.\.\.$|-1\b|-\.\.\.$/, short)
    if (short !== '') t.ok(text.startsWith(short.slice(0, -3)) && text[short.length - 3] === ' ', short)
  }
  t.equal(shorten(text, 24), 'Temperature above...')
  t.equal(shorten(text, text.length), text)
  t.equal(shorten('温度高', 3), '温度高')
  t.equal(shorten('温度高于零下十五度持续五分钟', 10), '温度高于零下十...')
  for (const n of [50, 51])
    t.equal(shorten('x'.repeat(n), n, ''), n > 50 ? `${'x'.repeat(47)}...` : 'x'.repeat(n))
})

t.test(
  'the platform’s own text has a line of its own in Arabic, behind a brand that may be Latin',
  async t => {
    for (const plain of ['تمت ترقية أجهزتك يوم الأحد.', 'Your devices will be updated on Sunday.']) {
      const content = { plain, words: 'plain', locale: 'ar' } as const
      const text = smsOf(renderer, messageOf('sms', 'plain', content, { purpose: 'plain' }))
      t.match(text, `:\n${plain}`, 'its direction is that of its own first letter')
    }
  },
)
