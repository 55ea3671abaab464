import fc from 'fast-check'
import t from 'tap'
import { countSegments, transliterate } from '../../src/messages/sms-segments.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'

t.test('GSM-7: 160 alone, 153 each', async t => {
  t.same(countSegments('a'.repeat(160)), { encoding: 'GSM-7', units: 160, segments: 1 })
  t.same(countSegments('a'.repeat(161)), { encoding: 'GSM-7', units: 161, segments: 2 })
  t.equal(countSegments('a'.repeat(306)).segments, 2)
  t.equal(countSegments('a'.repeat(307)).segments, 3)
  t.same(countSegments(''), { encoding: 'GSM-7', units: 0, segments: 1 })
  t.equal(countSegments('@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà').encoding, 'GSM-7')
})

t.test('the extension table counts twice and is never parted', async t => {
  t.equal(countSegments('€'.repeat(80)).units, 160)
  t.equal(countSegments('€'.repeat(80)).segments, 1)
  t.equal(countSegments('€'.repeat(81)).segments, 2)
  t.equal(countSegments(`${'a'.repeat(152)}€${'a'.repeat(151)}`).segments, 2)
  t.equal(
    countSegments(`${'a'.repeat(152)}€${'a'.repeat(152)}`).segments,
    3,
    'an escape pair moves to the next segment whole',
  )
})

t.test('UCS-2: 70 alone, 67 each, a surrogate pair never parted', async t => {
  t.same(countSegments('码'.repeat(70)), { encoding: 'UCS-2', units: 70, segments: 1 })
  t.equal(countSegments('码'.repeat(71)).segments, 2)
  t.equal(countSegments('á').encoding, 'UCS-2')
  t.equal(countSegments(`${'码'.repeat(66)}😀${'码'.repeat(66)}`).segments, 3)
})

t.test('our own words become GSM-7 where a neighbour exists', async t => {
  t.equal(transliterate('“código” – don’t…\u00a0ígual «sí»'), '"codigo" - don\'t... igual "si"')
  t.equal(transliterate('éñüà¿¡Ω€'), 'éñüà¿¡Ω€', 'what GSM-7 has stays as it is')
  const alike = '‘’‚‛′‹›“”„‟″«»‐‑‒–—―−•·…×℃℉°\t.'
  t.equal(transliterate(alike), `'''''''"""""""---------...xCFdeg .`)
  t.equal(transliterate('验证码 رمز e\u0301'), '验证码 رمز e\u0301', 'what has no neighbour stays as it is')
})

t.test('the count is between the two bounds of arithmetic', async () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 800 }), text => {
      const { encoding, units, segments: count } = countSegments(text)
      const [alone, each] = encoding === 'GSM-7' ? [160, 153] : [70, 67]
      return units <= alone
        ? count === 1
        : count >= Math.ceil(units / each) && count <= Math.ceil(units / (each - 1))
    }),
  )
})
