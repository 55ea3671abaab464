import t from 'tap'
import { startRig } from '../rigs/service.ts'
import { playIdlers } from './idlers.ts'

t.test('five thousand connections that idle shut nobody out of the private listener', async t => {
  const token = 'an-Admin-token-of-some-length'
  const rig = await startRig(t, { ADMIN_TOKENS: token })
  await playIdlers(t, rig.service().adminUrl, token, 5000)
})
