import t from 'tap'
import { createCredential, type GrantedToken, type PlatformResult } from '../../src/devices/platform-api.ts'
import { quote } from '../../src/language/sentence.ts'

t.test('a token is used until it is refused, and a failed login is told to all who wait', async t => {
  const failure = { is: 'unreachable', message: quote('ECONNREFUSED') } as const
  const answers: PlatformResult<GrantedToken>[] = [
    { ok: true, value: { accessToken: 't1' } },
    { ok: false, failure },
    { ok: true, value: { accessToken: 't2' } },
  ]
  const credential = createCredential(async () => answers.shift() ?? { ok: false, failure })
  for (let n = 0; n < 3; n += 1) t.match(await credential.getToken(), { token: 't1' })
  credential.refused('t1')
  t.same(await Promise.all([credential.getToken(), credential.getToken()]), [failure, failure])
  t.match(await credential.getToken(), { token: 't2' })
  credential.refused('t1')
  t.match(await credential.getToken(), { token: 't2' }, 'a late refusal of the old one changes nothing')
})
