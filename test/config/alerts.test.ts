import t from 'tap'
import { describeAdvice } from '../../src/settings/setting.ts'
import { enough, faultsIn, load } from './settings.ts'

const ddq = {
  ...enough,
  DDQ_HOST: 'ddq.example.com',
  DDQ_AUTH_URL: 'https://api.example.com',
  DDQ_APP_ID: 'application-1',
  DDQ_APP_SECRET: 'a secret of the application',
  ALERTS: 'alert * 30 - ops@example.com',
}

t.test('device alerts are off unless DDQ_HOST is set', async t => {
  const config = load(enough)
  t.equal(config.DDQ_HOST, undefined)
  t.same([config.DDQ_PORT, config.DDQ_TLS, config.DDQ_HEARTBEAT], [80, false, 'ping'])
})

t.test('with it, what is missing is named together', async t => {
  t.same(faultsIn(ddq), [])
  t.same(
    faultsIn({ ...enough, DDQ_HOST: 'ddq.example.com' }).map(fault => fault.split(' ')[0]),
    ['DDQ_AUTH_URL', 'DDQ_APP_ID', 'DDQ_APP_SECRET', 'ALERTS'],
  )
})

t.test('the table may be a file, with a row a line', async t => {
  const { ALERTS: _, ...without } = ddq
  const config = load(
    { ...without, ALERTS_FILE: '/etc/alerts' },
    { '/etc/alerts': '# all\nalert * 30 - a@example.com\n' },
  )
  t.equal(config.ALERTS, '# all\nalert * 30 - a@example.com')
})

t.test('a wrong value is named with what a right one looks like', async t => {
  for (const [name, value] of [
    ['DDQ_HOST', 'http://ddq.example.com'],
    ['DDQ_AUTH_URL', 'http://api.example.com'],
    ['DDQ_AUTH_PATH', 'auth'],
    ['DDQ_HEARTBEAT', 'pong'],
    ['DDQ_PORT', '0'],
  ] as const)
    t.match(faultsIn({ ...ddq, [name]: value }), [new RegExp(`^${name} must be`)])
})

t.test('a table without DDQ_HOST is a warning: nobody would be told', async t => {
  t.match(load({ ...enough, ALERTS: ddq.ALERTS }).warnings.map(describeAdvice), [
    /ALERTS is set, but nobody is told/,
  ])
})
