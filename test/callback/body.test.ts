import fc from 'fast-check'
import t from 'tap'
import { parseBody } from '../../src/callback/body.ts'

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
    t.throws(
      () => read(type),
      { message: 'the Content-Type must be application/json', statusCode: 415 },
      type,
    )
})

t.test(
  '__proto__ and constructor as keys, and what is no JSON, too deep or no UTF-8, are faults that quote nothing',
  async t => {
    for (const [why, texts] of [
      ['the body is not JSON', ['', '{', 'secret', '{"a":secret}', '[1,]', '\ufeff{}x']],
      [
        'the body is more than 8 levels deep',
        [nested(9), `{"a":${nested(20_000)}}`, `{"a":"\\\\","b":${nested(8)}}`],
      ],
      [
        'the body has a key that is not allowed',
        [
          '{"__proto__":{}}',
          '{"a":{"__proto__":1}}',
          '{"constructor":{"prototype":{}}}',
          '[{"\\u005f_proto__":1}]',
          '{"\\u0063onstructor":1}',
        ],
      ],
    ] as const)
      for (const text of texts)
        t.throws(() => parse(text), { message: why, statusCode: 400 }, text.slice(0, 99))
    t.throws(() => parseBody({}, Buffer.from([0x22, 0xff, 0x22])), {
      message: 'the body is not UTF-8',
      statusCode: 400,
    })
  },
)

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
        { message: 'the Content-Encoding is not supported: the body must be sent as it is', statusCode: 415 },
        coding,
      )
  },
)
