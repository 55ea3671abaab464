import { createPlatformClient } from '../../src/platform/client.ts'
import { describeFailure, type Result } from '../../src/platform/result.ts'
import type { Accounts } from './accounts.ts'

/** What a client of the platform can ask of it, one button each. */
export const TRIES = {
  member: 'Member login',
  user: 'User login',
  application: 'Application login',
  call: 'Gateway call',
  put: 'PUT by XR-Method',
  signed: 'Signed call',
  anonymous: 'No credential',
  wrong: 'Wrong token',
  empty: 'Empty parameter',
  version1: 'Version 1 error',
} as const
export type Try = keyof typeof TRIES

/** A client of the emulated API, to see from its page what a client sees. */
export interface Tries {
  /** What came of it, in words. */
  press(what: Try): Promise<string>
  close(): Promise<void>
}

export function createTries(baseUrl: string, accounts: Accounts): Tries {
  const { corp, user, app } = accounts
  const client = createPlatformClient({ baseUrl })
  const member = { by: 'token', credential: client.credential(() => client.corpAuth(corp)) } as const
  const wrong = {
    by: 'token',
    credential: { token: async () => ({ ok: true, value: 'no-token-of-ours' }) as const, refused: () => {} },
  } as const
  const echo = '/v2/api-gateway/echo'
  const demo = {
    method: 'POST',
    path: '/v2/api-gateway/demo',
    body: { name: 'Ada', age: 36 },
    auth: member,
  } as const
  const presses: Readonly<Record<Try, () => Promise<Result<unknown>>>> = {
    member: () => client.corpAuth(corp),
    user: () => client.userAuth({ ...user, corpId: corp.corpId, phone: undefined }),
    application: () => client.appAuth(app),
    call: () => client.call(demo),
    put: () => client.call({ method: 'PUT', path: echo, body: { a: 1 }, auth: member }),
    signed: () =>
      client.call({
        ...demo,
        group: 'demo',
        stage: 'TEST',
        auth: {
          by: 'signature',
          signing: {
            appId: app.appId,
            sign: () => 'not-published',
            timestamp: () => String(Date.now()),
            requestId: () => 'try',
          },
        },
      }),
    anonymous: () => client.call({ method: 'GET', path: echo }),
    wrong: () => client.call({ method: 'GET', path: echo, auth: wrong }),
    empty: () => client.call({ ...demo, body: { age: 36 } }),
    version1: () =>
      client.call({ method: 'POST', path: '/v1/demo', body: { name: 'Ada', age: 'old' }, auth: member }),
  }
  return {
    async press(what) {
      const result = await presses[what]()
      return result.ok ? `${TRIES[what]}: done` : `${TRIES[what]}: ${describeFailure(result.failure)}`
    },
    close: () => client.close(),
  }
}
