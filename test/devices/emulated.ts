import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { type Accounts, createTokens } from '../../sandbox/emulator/accounts.ts'
import { type ApiExchange, createPlatformApi, createPlatformServer } from '../../sandbox/emulator/api.ts'
import { createContractChecker } from '../../sandbox/emulator/contract.ts'
import { createPlatformClient } from '../../sandbox/emulator/platform-client.ts'
import type { PlatformOptions } from '../../src/devices/platform-api.ts'

export const accounts: Accounts = {
  corp: {
    corpId: '100fa4b2c3d4e5f6',
    memberId: '84f2',
    account: 'ops@example.com',
    password: 'correct horse',
    roleType: 1,
  },
  user: {
    // 2^53 + 1, the first whole number that a double cannot hold.
    userId: 9_007_199_254_740_993n,
    phone: '13800138000',
    phoneZone: '+86',
    email: 'lin.wei@example.com',
    password: 'battery staple',
  },
  app: { appId: '2e07d2b0c4e8', appSecret: 'app-secret' },
}

/** The emulated platform on a port of its own, and a client of it. */
export async function emulated(
  t: Test,
  options: {
    readonly unit?: 'seconds' | 'milliseconds'
    readonly lifeMs?: number
    readonly client?: Partial<PlatformOptions>
  } = {},
) {
  const contract = createContractChecker(Date.now)
  let now = 1_795_219_200_000
  const clock = { now: () => now, pass: (ms: number) => void (now += ms) }
  const { unit = 'seconds', lifeMs = 7_200_000 } = options
  const tokens = createTokens({ lifeMs, unit, now: clock.now, random: n => randomBytes(n).toString('hex') })
  const exchanges: ApiExchange[] = []
  const signatures: object[] = []
  const api = createPlatformApi({
    accounts,
    tokens,
    contract,
    now: clock.now,
    onExchange: exchange => exchanges.push(exchange),
    verifySignature: request => {
      signatures.push(request)
      return request.headers['signature'] === 'signed'
    },
  })
  const server = createPlatformServer(api)
  const baseUrl = await server.listen(0)
  t.teardown(() => server.close())
  const client = createPlatformClient({ baseUrl, ...options.client })
  t.teardown(() => client.close())
  return { api, tokens, contract, exchanges, signatures, client, clock, baseUrl }
}
