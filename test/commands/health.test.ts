import { createServer, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { listen } from '../rigs/listen.ts'
import { command, running } from './rig.ts'

async function answering(t: Test, answer: (path: string) => readonly [number, string]) {
  const server = createServer((request, response) => {
    const [status, text] = answer(request.url ?? '')
    response.writeHead(status).end(text)
  })
  return { ADMIN_PORT: String(await listen(t, server)) }
}

t.test('a running service is well and ready, without any other setting', async t => {
  const { env } = await running(t)
  const asked = { ADMIN_PORT: env['ADMIN_PORT'] }
  t.same(await command(['health'], asked), { code: 0, out: '', err: '' })
  t.same(await command(['health', '--ready'], asked), { code: 0, out: '', err: '' })
  const gone = await command(['health'], { ADMIN_PORT: '1' })
  t.equal(gone.code, 1)
  t.match(gone.err, /^not well: http:\/\/127\.0\.0\.1:1\/healthz: .*ECONNREFUSED/)
})

t.test('not ready is told with the reason', async t => {
  const env = await answering(t, path => (path === '/healthz' ? [200, ''] : [503, 'the store cannot commit']))
  t.equal((await command(['health'], env)).code, 0)
  const { code, err } = await command(['health', '--ready'], env)
  t.equal(code, 1)
  t.match(err, 'HTTP 503 the store cannot commit')
})

t.test('of a long answer the beginning is told', async t => {
  const { err } = await command(['health'], await answering(t, () => [500, 'x'.repeat(5000)]))
  t.equal(err.match(/x+/g)?.at(-1)?.length, 300)
})

t.test('a service whose answer does not come, takes too long or is cut off is not well', async t => {
  const slowly = (response: ServerResponse) => {
    response.writeHead(200, { 'content-length': 8 })
    const drip = setInterval(() => response.write('x'), 1000)
    response.once('close', () => clearInterval(drip))
  }
  const cutOff = (response: ServerResponse) =>
    response.writeHead(200, { 'content-length': 20 }).write('{', () => response.destroy())
  for (const [answer, why] of [
    [() => {}, /healthz: no answer within 3 s/],
    [slowly, /healthz: no answer within 3 s/],
    [cutOff, /healthz: aborted/],
  ] as const) {
    const server = createServer((_request, response) => void answer(response))
    t.match(await command(['health'], { ADMIN_PORT: String(await listen(t, server)) }), { code: 1, err: why })
  }
})
