import t from 'tap'
import { address } from './page-rig.ts'

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
