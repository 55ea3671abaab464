import type { ContractRig } from '../contract.ts'
import { openTencent, startTencentServer, tencentSide } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  async 'with an API key'() {
    const server = await startTencentServer()
    const provider = openTencent(server.url)
    const wrongLogin = openTencent(server.url, { secretKey: 'canary-wrong' })
    return {
      ...tencentSide(server),
      provider,
      wrongLogin,
      async end() {
        await Promise.all([provider.close(), wrongLogin.close(), server.standIn.close()])
      },
    }
  },
}
