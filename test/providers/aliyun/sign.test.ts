import { readFileSync } from 'node:fs'
import t from 'tap'
import { signAliyunRequest } from '../../../src/providers/aliyun.ts'
import { encodeQuery } from '../../../src/providers/signing.ts'

interface Vector {
  readonly made_by: string
  readonly keyId: string
  readonly secret: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly canonicalQuery?: string
  readonly authorization: string
}
const file = new URL('../../fixtures/aliyun/signing-vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: readonly Vector[] }

t.test('every published vector, the vendor’s printed one included', async t => {
  t.equal(vectors.length, 4)
  t.ok(vectors.some(({ made_by }) => made_by.startsWith('published')))
  for (const { made_by, query, headers, canonicalQuery, authorization, ...login } of vectors) {
    t.equal(signAliyunRequest(query, headers, login), authorization, made_by)
    if (canonicalQuery !== undefined) t.equal(encodeQuery(query), canonicalQuery)
  }
})

t.test('what encodeURIComponent leaves is encoded, an empty value keeps its equals sign', async t => {
  t.equal(encodeQuery({ b: "!'()*", a: '', B: 'ä ~+' }), 'B=%C3%A4%20~%2B&a=&b=%21%27%28%29%2A')
})
