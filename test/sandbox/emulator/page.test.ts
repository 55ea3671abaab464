import { request } from 'node:http'
import t from 'tap'
import { address } from './page-rig.ts'

t.test('it answers to this machine only, and obeys only itself', async t => {
  const ask = (headers: Record<string, string>) =>
    new Promise<number | undefined>(resolve =>
      request(`${address}/state`, { headers }, response => {
        response.resume()
        resolve(response.statusCode)
      }).end(),
    )
  t.equal(await ask({}), 200)
  t.equal(await ask({ host: 'evil.example' }), 403)
  t.equal(await ask({ origin: 'http://evil.example' }), 403)
})

t.test('what there is not is not found', async t => {
  const post = async (path: string, body: object) =>
    (
      await fetch(address + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    ).status
  t.equal(await post('/act', { device: '1', action: 'offline' }), 404)
  t.equal(await post('/act', { device: '1144502133', action: 'alarm', rule: 'none' }), 404)
  t.equal(await post('/act', { device: '1144502133', action: 'explode' }), 400)
  t.equal(await post('/fault', { name: 'none', on: true }), 400)
  t.equal(await post('/callback', { url: 'nowhere', corpId: '', token: '', channel: 'email' }), 404)
})
