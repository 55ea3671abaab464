import { readFileSync } from 'node:fs'
import t from 'tap'
import { signTencentRequest } from '../../../src/providers/tencent.ts'

interface Vector {
  readonly made_by: string
  readonly secretId: string
  readonly secretKey: string
  readonly service: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signedHeaders: string
  readonly authorization: string
}
const file = new URL('../../fixtures/tencent/signing-vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: readonly Vector[] }

t.test('every published vector, the vendor’s printed one included', async t => {
  t.equal(vectors.length, 2)
  t.ok(vectors.some(({ made_by }) => made_by.startsWith('published')))
  for (const { made_by, body, headers, signedHeaders, service, authorization, ...login } of vectors) {
    const key = { keyId: login.secretId, secret: login.secretKey }
    const signed = Object.fromEntries(signedHeaders.split(';').map(name => [name, headers[name] ?? '']))
    t.equal(
      signTencentRequest(body, signed, Number(headers['x-tc-timestamp']), key, service),
      authorization,
      made_by,
    )
  }
})
