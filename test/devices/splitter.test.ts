import fc from 'fast-check'
import t from 'tap'
import { BrokenStream, createSplitter } from '../../src/devices/splitter.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'

/** Pushes the text in chunks of these sizes, over and over. @returns the objects, and what was wrong in the end; '': nothing */
function split(text: string | Buffer, sizes: readonly number[] = [1 << 20]) {
  const splitter = createSplitter(() => 0)
  const bytes = Buffer.from(text)
  const objects: string[] = []
  try {
    for (let at = 0, n = 0; at < bytes.length; n += 1) {
      const size = sizes[n % sizes.length] ?? 1
      for (const text of splitter.push(bytes.subarray(at, at + size))) objects.push(text)
      at += size
    }
    return { objects, fault: '' }
  } catch (error) {
    if (!(error instanceof BrokenStream)) throw error
    return { objects, fault: error.code }
  }
}

const json = fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue())

t.test(
  'objects come out as they went in, in any chunks, with any white space between them, or none',
  async t => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(json, fc.boolean(), fc.constantFrom('', '\n', '\r\n', '  ', ',', '\n,\n')), {
          maxLength: 8,
        }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        (all, sizes) => {
          const texts = all.map(([value, pretty]) => JSON.stringify(value, null, pretty ? 2 : 0))
          const stream = all.map(([, , between], at) => `${texts[at]}${between}`).join('')
          t.same(split(stream, sizes), { objects: texts, fault: '' })
        },
      ),
      { numRuns: 300 },
    )
  },
)

t.test('characters of several bytes survive being cut', async t => {
  const text = '{"name":"设备 🚪 مفتوح"}'
  t.same(split(text + text, [1]).objects, [text, text])
})

t.test('the objects of a list come one by one', async t => {
  t.same(split('[{"a":1},\n{"a":[{"b":2}]}]').objects, ['{"a":1}', '{"a":[{"b":2}]}'])
})

t.test('a bracket or a quote within a text is one of the text', async t => {
  const texts = ['{"a":"}]{[\\"}"}', '{"a":"\\\\"}', '{"}":1}']
  for (const size of [1, 2, 100]) t.same(split(texts.join(''), [size]), { objects: texts, fault: '' })
})

t.test('what breaks the stream is named, after the objects before it', async t => {
  for (const [broken, fault] of [
    ['x', 'bytes outside of any object'],
    ['\0', 'bytes outside of any object'],
    ['{"a":"x\n', 'an object that is not JSON'],
    ['}', 'bytes outside of any object'],
    [`{"a":${'['.repeat(64)}`, 'an object too deep'],
    [`{"a":"${'x'.repeat(262_144)}"}`, 'an object too long'],
  ] as const)
    for (const size of [7, 1_000_000])
      t.same(split(`{"good":1} ${broken}`, [size]), { objects: ['{"good":1}'], fault }, fault)
  const deepest = `{"a":${'['.repeat(63)}${']'.repeat(63)}}`
  const longest = `{"a":"${'x'.repeat(262_144 - 8)}"}`
  t.same(split(deepest + longest, [1000]), { objects: [deepest, longest], fault: '' })
})

t.test('an object without an end is held for half a minute, and what has ended is not', async t => {
  let now = 0
  const splitter = createSplitter(() => now)
  t.same([...splitter.push(Buffer.from(`{"a":"${'x'.repeat(5000)}`))], [])
  now += 30_000
  t.equal([...splitter.push(Buffer.from('"}{'))].length, 1)
  now += 30_001
  t.throws(() => [...splitter.push(Buffer.from('"a":1}'))], { code: 'an object without an end' })
})
