import t from 'tap'
import { describeFault } from '../../src/settings/setting.ts'
import { enough, faultsIn, load } from './settings.ts'

const ddq = {
  ...enough,
  DDQ_URL: 'http://ddq.example.com',
  DDQ_AUTH_URL: 'https://api.example.com',
  DDQ_APP_ID: 'application-1',
  DDQ_APP_SECRET: 'a secret of the application',
  ALERTS: 'alert * 30 - ops@example.com',
}

t.test('what the platform does not publish stands behind the address, or is guessed', async t => {
  const usual = {
    origin: 'http://ddq.example.com',
    authenticatePath: '/auth',
    subscribePath: '/subscribe',
    heartbeat: 'ping',
    anyProduct: '+',
  }
  t.same(load(ddq).DDQ_URL, usual)
  t.same(
    load({ ...ddq, DDQ_URL: 'https://[::1]:8443/?auth=/a%26b&any-product=+&heartbeat=post:/x' }).DDQ_URL,
    {
      ...usual,
      origin: 'https://[::1]:8443',
      authenticatePath: '/a&b',
      heartbeat: 'post:/x',
    },
  )
})

t.test('with it, what is missing is named together', async t => {
  t.same(faultsIn(ddq), [])
  t.same(
    faultsIn({ ...enough, DDQ_URL: 'http://ddq.example.com' }).map(fault => fault.split(' ')[0]),
    ['DDQ_AUTH_URL', 'DDQ_APP_ID', 'DDQ_APP_SECRET', 'ALERTS'],
  )
})

t.test('a wrong value is named with what a right one looks like', async t => {
  for (const [name, value] of [
    ['DDQ_URL', 'ddq.example.com'],
    ['DDQ_URL', 'http://ddq.example.com/subscribe'],
    ['DDQ_URL', 'http://ddq.example.com?auth=auth'],
    ['DDQ_URL', 'http://ddq.example.com?any-product='],
    ['DDQ_URL', 'http://ddq.example.com?heartbeat=pong'],
    ['DDQ_URL', 'http://ddq.example.com?port=80'],
    ['DDQ_AUTH_URL', 'http://api.example.com'],
  ] as const)
    t.match(faultsIn({ ...ddq, [name]: value }), [new RegExp(`^${name} must `)])
})

t.test('a table without DDQ_URL is a warning: nobody would be told', async t => {
  t.match(load({ ...enough, ALERTS: ddq.ALERTS }).warnings.map(describeFault), [
    /ALERTS is set, but nobody is told/,
  ])
})
