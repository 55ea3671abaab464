import fc from 'fast-check'
import t from 'tap'
import { createSplitter, type StreamPiece } from '../../src/devices/splitter.ts'
import { anyCharacter } from '../fixtures/arbitraries.ts'

/** Pushes the text in chunks of these sizes, over and over. */
function split(text: string | Buffer, sizes: readonly number[] = [1 << 20]): StreamPiece[] {
  const splitter = createSplitter()
  const bytes = Buffer.from(text)
  const pieces: StreamPiece[] = []
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1
    pieces.push(...splitter.push(bytes.subarray(at, at + size)))
    at += size
  }
  return [...pieces, ...splitter.end()]
}

const objects = (pieces: readonly StreamPiece[]) =>
  pieces.flatMap(piece => (piece.is === 'object' ? [piece.text] : []))
const garbage = (pieces: readonly StreamPiece[]) => pieces.filter(piece => piece.is === 'garbage')

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
          const pieces = split(all.map(([, , between], at) => `${texts[at]}${between}`).join(''), sizes)
          t.same(objects(pieces), texts)
          t.same(garbage(pieces), [])
        },
      ),
      { numRuns: 300 },
    )
  },
)

t.test('characters of several bytes survive being cut', async t => {
  const text = '{"name":"设备 🚪 مفتوح"}'
  t.same(objects(split(text + text, [1])), [text, text])
})

t.test('the objects of a list come one by one', async t => {
  t.same(objects(split('[{"a":1},\n{"a":[{"b":2}]}]')), ['{"a":1}', '{"a":[{"b":2}]}'])
})

t.test('bytes between objects are garbage, reported once, and no object is lost to them', async t => {
  const pieces = split(
    Buffer.concat([Buffer.from('{"a":1}'), Buffer.of(0, 255, 254, 7), Buffer.from('x{"a":2}')]),
    [3],
  )
  t.same(objects(pieces), ['{"a":1}', '{"a":2}'])
  t.same(garbage(pieces), [{ is: 'garbage', bytes: 5, why: 'bytes outside of any object' }])
})

t.test('no object is lost to one that breaks off on the line before', async t => {
  const whole = '{"topic":"a/b","message_id":"7","payload":{"list":[1,{"x":"y"}],"t":true}}'
  for (let cut = 1; cut < whole.length; cut += 1) {
    // Broken off after a colon or in a list, an object may begin there; nobody can tell before its end.
    if (/[:[,]$/.test(whole.slice(0, cut)) && !whole.slice(0, cut).endsWith('",')) continue
    const pieces = split(`${whole.slice(0, cut)}\n${whole}\n${whole}\n`, [11])
    t.equal(objects(pieces).at(-1), whole, `cut at ${cut}`)
    t.equal(objects(pieces).filter(text => text === whole).length, 2, `cut at ${cut}`)
    t.equal(garbage(pieces).length, 1, `cut at ${cut}`)
  }
})

t.test('an object is given up at the first byte that cannot be JSON', async t => {
  for (const broken of [
    '{"a":}',
    '{"a" 1',
    '{a:1}',
    '{"a":1 "b"',
    '{"a":[1}',
    '{"a":1]',
    '{"a"::',
    '{,}',
    '{"a":\u0001',
  ])
    t.equal(objects(split(`${broken}\n{"good":1}\n`)).at(-1), '{"good":1}', broken)
})

t.test('an object without end is given up at 256 KiB, one too deep at its depth', async t => {
  const endless = `{"a":"${'x'.repeat(3 * 1024 * 1024)}`
  const pieces = split(`${endless}\n{"good":1}`, [64 * 1024])
  t.same(objects(pieces), ['{"good":1}'])
  t.match(garbage(pieces)[0], { why: 'an object too long' })
  t.match(
    garbage(split(`{"a":${'['.repeat(100)}`)),
    [{ why: 'an object that is not JSON' }, { why: /outside|cut off/ }].slice(0, 1),
  )
})

t.test('after any bytes a good object is found, and nothing is thrown', async t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      const pieces = split(
        Buffer.concat([Buffer.from(bytes), Buffer.from('\n"}\n]}\n{"good":1}\n{"good":2}\n')]),
        [7],
      )
      t.equal(objects(pieces).at(-1), '{"good":2}')
    }),
    { numRuns: 500 },
  )
})

t.test('the end of the stream ends an object that was begun', async t => {
  t.same(split('{"a":1}{"b":'), [
    { is: 'object', text: '{"a":1}' },
    { is: 'garbage', bytes: 5, why: 'an object that was cut off' },
  ])
})
