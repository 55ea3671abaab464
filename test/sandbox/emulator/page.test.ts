import { request } from 'node:http'
import t from 'tap'
import { address, emulator, inBrowser } from './page-rig.ts'

inBrowser('a device does what its buttons say, and its messages are shown', async (t, tab) => {
  const freezer = tab.getByRole('article', { name: 'Freezer 3, warehouse north' })
  await freezer.getByRole('button', { name: 'Go offline' }).click()
  await freezer.getByText('offline', { exact: true }).waitFor()
  await tab.getByText('1144502133 is offline').waitFor()
  await freezer.getByRole('button', { name: 'Alarm' }).first().click()
  await tab.getByText('1144502133 alarm').waitFor()
  await freezer.getByRole('button', { name: 'Handle' }).click()
  await freezer.getByRole('button', { name: 'Recover' }).first().click()
  await freezer.getByRole('button', { name: 'Report event' }).click()
  await freezer.getByRole('button', { name: 'Report attributes' }).click()
  await freezer.getByRole('button', { name: 'Come online' }).click()
  await tab.getByText('1144502133 is online').waitFor()
  t.equal(emulator.devices.sentMessages().length, 7)
  await tab.getByText('1144502133 alarm').click()
  await tab.locator('details[open] pre', { hasText: '"exception": true' }).waitFor()
  const gate = tab.getByRole('article', { name: 'Gate controller, dock 2' })
  await gate.getByRole('button', { name: 'Go offline' }).click()
  await tab.getByText('9007199254740993 is offline').waitFor()
})

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
