import https from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createCertificate } from '../../sandbox/certificate.ts'
import { createHttpClient } from '../../src/providers/http-client.ts'
import { createExchanges, outcomeWithoutAnswer } from '../../src/providers/http-exchange.ts'

const LIMITS = { connectMs: 2_000, answerMs: 2_000, bodyMs: 2_000 }
const REQUEST = { method: 'POST', path: '/?secret', headers: {}, body: null }

t.test('a certificate that nobody vouches for gets no request', async t => {
  const certificate = await createCertificate(Date.now())
  let requests = 0
  const server = https.createServer(certificate, (_request, response) => {
    requests += 1
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async (options: { readonly ca?: string }) => {
    const client = createHttpClient({ baseUrl, connections: 1, limits: LIMITS, ...options })
    t.teardown(() => client.close())
    const exchanges = createExchanges(LIMITS, { now: Date.now })
    return exchanges.run(one => client.request(one, REQUEST), new AbortController().signal, Infinity)
  }
  const refused = await ask({})
  if ('value' in refused) return t.fail('it was trusted')
  const outcome = outcomeWithoutAnswer(refused, 'a carrier')
  t.match(outcome, { is: 'retry', whose: 'later', untouched: true, reply: /self-signed/ })
  t.notMatch(JSON.stringify(outcome), 'secret')
  t.equal(requests, 0)
  t.match(await ask({ ca: certificate.cert }), { value: { statusCode: 200 } })
})
