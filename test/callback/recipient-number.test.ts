import fc from 'fast-check'
import { getCountries, getExampleNumber } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import t from 'tap'
import { countryOfAreaCode, createPhoneParser, maskNumber } from '../../src/callback/recipients.ts'
import { countryOf } from '../../src/words/render.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'

const anywhere = createPhoneParser({ countries: '*' })
const china = createPhoneParser({ countries: new Set(['CN']), defaultAreaCode: '86' })

t.test('a Chinese number in every form of the contract is the same number', async t => {
  const forms: [string, string | undefined][] = [
    ['13800138000', '86'],
    ['13800138000', '+86'],
    ['13800138000', '0086'],
    ['13800138000', undefined],
    ['+8613800138000', undefined],
    ['+8613800138000', '86'],
    ['008613800138000', '86'],
    ['8613800138000', '86'],
    ['138 0013 8000', '86'],
    ['138-0013-8000', '86'],
    [' 13800138000 ', '86'],
    ['013800138000', '86'],
  ]
  for (const [to, area] of forms)
    t.same(china(to, area), { number: '+8613800138000', country: 'CN' }, `${to} ${area}`)
})

t.test('the example mobile number of every country is read, nationally and internationally', async t => {
  let read = 0
  for (const country of getCountries()) {
    const number = getExampleNumber(country, examples)
    if (
      number === undefined ||
      !number.isValid() ||
      !['MOBILE', 'FIXED_LINE_OR_MOBILE'].includes(number.getType() ?? '')
    )
      continue
    const parsed = anywhere(number.number, undefined)
    t.ok(typeof parsed === 'object' && parsed.number === number.number, `${country} ${number.number}`)
    t.equal(
      typeof parsed === 'object' && parsed.country,
      countryOf(number.number),
      'the country that its words and its route go by',
    )
    const national = anywhere(number.nationalNumber, number.countryCallingCode)
    t.ok(
      typeof national === 'object' && national.number === number.number,
      `${country} national ${number.nationalNumber}`,
    )
    read += 1
  }
  t.ok(read > 200, `${read} countries`)
})

t.test('a number with + wins, and a contradicting area code is a wrong one', async t => {
  t.same(anywhere('+447400123456', '86'), 'area')
  t.same(anywhere('+447400123456', '44'), { number: '+447400123456', country: 'GB' })
  t.same(anywhere('+16847331234', '1684'), { number: '+16847331234', country: 'AS' })
  t.same(anywhere('7331234', '1684'), { number: '+16847331234', country: 'AS' })
})

t.test('an area code that is missing or none is told from a country that is not allowed', async t => {
  t.same(anywhere('13800138000', undefined), 'area')
  t.same(anywhere('13800138000', 'abc'), 'area')
  t.same(anywhere('13800138000', '999'), 'area')
  t.same(anywhere('13800138000', '0'), 'area')
  t.same(china('+447400123456', undefined), 'country')
})

t.test('what is not a mobile number is not sent to', async t => {
  const wrong: [string, string | undefined][] = [
    ['13800138000;13900139000', '86'],
    ['13800138000,', '86'],
    ['1380013800', '86'],
    ['0900123456', '49'],
    ['+449098790000', undefined],
    ['+448431234567', undefined],
    ['+447012345678', undefined],
    ['+49301234567', undefined],
    ['110', '86'],
    ['10086', '86'],
    ['+18005551234', undefined],
    ['+19005551234', undefined],
    ['abc', '86'],
    ['', '86'],
    ['+', undefined],
    ['13800138000 ext 5', '86'],
    ['13800138000x5', '86'],
    ['１３８００１３８０００', '86'],
    ['13800138000\n', '86'],
    ['tel:+8613800138000', undefined],
    ['++8613800138000', undefined],
    ['-13800138000', '86'],
    [`1380013800${'0'.repeat(40)}`, '86'],
  ]
  const hostile =
    '112 12345 95588 106575020234 13800138000#5 13800138000;ext=5 13800138000w1 13800138000&To=%2B44 1-800-FLOWERS 00 0x3360e4b20 1.3e10'
  for (const to of [...hostile.split(' '), '13800138000 13900139000', '1380013800\r\nTo=0', '13800138000\0'])
    wrong.push([to, '86'])
  for (const [to, area] of wrong) t.same(anywhere(to, area), 'recipient', JSON.stringify([to, area]))
})

t.test('a text of more than 32 characters is no number, whatever stands between its digits', async t => {
  const written = (length: number) => `138${' '.repeat(length - 11)}00138000`
  t.same(china(written(32), '86'), { number: '+8613800138000', country: 'CN' })
  t.same(china(written(33), '86'), 'recipient')
})

t.test('a number without a country is refused, though the library calls it mobile', async t => {
  for (const to of [
    '+881612345678',
    '+882161234567',
    '+883510001234567',
    '+80012345678',
    '+979123456789',
    '+87031234567',
  ]) {
    t.equal(anywhere(to, undefined), to === '+87031234567' ? 'recipient' : 'country', to)
  }
})

t.test('whatever goes in, only E.164 comes out', async () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.option(fc.string(), { nil: undefined }), (to, area) => {
      const verdict = anywhere(to, area)
      return typeof verdict === 'string' || /^\+[1-9]\d{6,14}$/.test(verdict.number)
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(
      fc.stringMatching(/^\+?[0-9 ().-]{5,20}$/),
      fc.stringMatching(/^(\+|00)?[0-9]{1,4}$/),
      (to, area) => {
        const verdict = anywhere(to, area)
        return typeof verdict === 'string' || /^\+[1-9]\d{6,14}$/.test(verdict.number)
      },
    ),
    { numRuns: 1000 },
  )
})

t.test('the country of a calling code is its main one', async t => {
  t.equal(countryOfAreaCode('86'), 'CN')
  t.equal(countryOfAreaCode('+1'), 'US')
  t.equal(countryOfAreaCode('0044'), 'GB')
  t.equal(countryOfAreaCode('881'), null)
  t.equal(countryOfAreaCode('x'), null)
})

t.test('the mask keeps the start and the last four digits', async t => {
  t.equal(maskNumber('+8613800138000'), '+86*******8000')
  t.equal(maskNumber('+14155550132'), '+14*****0132')
  t.equal(maskNumber('+24712345'), '+24***2345', 'of a short one nobody sees how short')
})
