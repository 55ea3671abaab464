import fc from 'fast-check'
import t from 'tap'
import { BodyFault, parseBody } from '../../src/callback/body.ts'

const parse = (text: string) => parseBody({}, Buffer.from(text))
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

t.test('JSON is read', async t => {
  t.same(parse('{"a":[1,"x",null,{"b":true}]}'), { a: [1, 'x', null, { b: true }] })
  t.same(parse(nested(8)), [[[[[[[[]]]]]]]])
  t.same(
    parse('{"a":"{{{{[[[[[[[[[[[[\\"[[[[[[[[[[[["}'),
    { a: '{{{{[[[[[[[[[[[["[[[[[[[[[[[[' },
    'brackets in text have no depth, nor have those behind a quote in it',
  )
  t.same(
    parse('{"a":"__proto__","b":"constructor"}'),
    { a: '__proto__', b: 'constructor' },
    'as values they are harmless',
  )
})

t.test('the type is JSON, whatever its parameters', async t => {
  const read = (type: string) => parseBody({ 'content-type': type }, Buffer.from('{}'))
  for (const type of ['application/json', 'Application/JSON ; charset=utf-8']) t.same(read(type), {}, type)
  for (const type of ['', 'text/plain', 'application/jsonp', 'application/json-seq'])
    t.throws(() => read(type), BodyFault, type)
})

t.test('what is not JSON, too deep or not UTF-8 is a fault that does not quote it', async t => {
  for (const text of [
    '',
    '{',
    'secret',
    '{"a":secret}',
    nested(9),
    `{"a":${nested(20_000)}}`,
    `{"a":"\\\\","b":${nested(8)}}`,
    '[1,]',
    '\ufeff{}x',
  ]) {
    t.throws(() => parse(text), BodyFault)
    try {
      parse(text)
    } catch (error) {
      t.notMatch((error as Error).message, /secret/)
    }
  }
  t.throws(() => parseBody({}, Buffer.from([0x22, 0xff, 0x22])), BodyFault)
})

t.test('__proto__ and constructor are refused as keys, however they are written', async t => {
  for (const text of [
    '{"__proto__":{}}',
    '{"a":{"__proto__":1}}',
    '{"constructor":{"prototype":{}}}',
    '[{"\\u005f_proto__":1}]',
    '{"\\u0063onstructor":1}',
  ]) {
    t.throws(() => parse(text), BodyFault, text)
  }
})

t.test('every JSON value that is shallow and clean comes back as it was', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), text => {
      if (/__proto__|constructor/.test(text)) return
      t.same(parse(text), JSON.parse(text))
    }),
    { numRuns: 200 },
  )
})

t.test(
  'a Content-Encoding that packs nothing is taken: identity, and the charset that some clients put there',
  async t => {
    const bytes = Buffer.from('{"to":"a@example.com"}')
    for (const coding of ['', ' ', 'identity', 'Identity ', 'utf-8', ' UTF-8', 'UTF8'])
      t.same(parseBody({ 'content-encoding': coding }, bytes), { to: 'a@example.com' }, coding)
    for (const coding of ['gzip', 'identity, gzip', 'utf-8, br', 'utf-16'])
      t.throws(
        () => parseBody({ 'content-encoding': coding }, bytes),
        new BodyFault('the Content-Encoding is not supported: the body must be sent as it is', 415),
        coding,
      )
  },
)
