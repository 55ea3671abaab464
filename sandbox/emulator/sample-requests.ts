import { createPlatformClient } from '../../src/platform/client.ts'
import { describeFailure, type PlatformResult } from '../../src/platform/result.ts'
import type { Accounts } from './accounts.ts'

/** The requests of the page's buttons, by name. */
export const SAMPLE_REQUESTS = {
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
export type SampleRequest = keyof typeof SAMPLE_REQUESTS

/** Sends requests to the emulated API as a client would. */
export interface SampleRequests {
  /** Sends one and describes its result in words. */
  send(name: SampleRequest): Promise<string>
  close(): Promise<void>
}

export function createSampleRequests(baseUrl: string, accounts: Accounts): SampleRequests {
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
  const requests: Readonly<Record<SampleRequest, () => Promise<PlatformResult<unknown>>>> = {
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
    async send(name) {
      const result = await requests[name]()
      return result.ok
        ? `${SAMPLE_REQUESTS[name]}: done`
        : `${SAMPLE_REQUESTS[name]}: ${describeFailure(result.failure)}`
    },
    close: () => client.close(),
  }
}
