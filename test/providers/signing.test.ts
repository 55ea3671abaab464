import { readFileSync } from 'node:fs'
import t from 'tap'
import { signAliyunRequest } from '../../src/providers/aliyun.ts'
import { encodeQuery } from '../../src/providers/signing.ts'
import { signTencentRequest } from '../../src/providers/tencent.ts'

type Text = Readonly<Record<string, string>>
interface Vector {
  readonly made_by: string
  readonly headers: Text
  readonly authorization: string
}
function vectorsOf(carrier: string): unknown {
  const file = new URL(`../fixtures/${carrier}/signing-vectors.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: unknown }).vectors
}

t.test('every published vector, the vendors’ printed ones included', async t => {
  type OfAliyun = Vector & { keyId: string; secret: string; query: Text; canonicalQuery?: string }
  const aliyun = vectorsOf('aliyun') as readonly OfAliyun[]
  for (const { made_by, query, headers, canonicalQuery, authorization, ...login } of aliyun) {
    t.equal(signAliyunRequest(query, headers, login), authorization, made_by)
    if (canonicalQuery !== undefined) t.equal(encodeQuery(query), canonicalQuery)
  }
  type OfTencent = Vector & Record<'secretId' | 'secretKey' | 'service' | 'body' | 'signedHeaders', string>
  const tencent = vectorsOf('tencent') as readonly OfTencent[]
  for (const { made_by, body, headers, signedHeaders, service, authorization, ...login } of tencent) {
    const key = { keyId: login.secretId, secret: login.secretKey }
    const signed = Object.fromEntries(signedHeaders.split(';').map(name => [name, headers[name] ?? '']))
    const at = Number(headers['x-tc-timestamp'])
    t.equal(signTencentRequest(body, signed, at, key, service), authorization, made_by)
  }
  t.same([aliyun.length, tencent.length], [4, 2])
  for (const vectors of [aliyun, tencent]) t.ok(vectors.some(each => each.made_by.startsWith('published')))
})

t.test('what encodeURIComponent leaves is encoded, an empty value keeps its equals sign', async t => {
  t.equal(encodeQuery({ b: "!'()*", a: '', B: 'ä ~+' }), 'B=%C3%A4%20~%2B&a=&b=%21%27%28%29%2A')
})
