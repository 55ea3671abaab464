import type { ContractRig } from '../contract.ts'
import { aliyunSide, openAliyun, startAliyunServer } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  async 'with an access key'() {
    const server = await startAliyunServer()
    const provider = openAliyun(server.url)
    const wrongLogin = openAliyun(server.url, { secret: 'canary-wrong' })
    return {
      ...aliyunSide(server),
      provider,
      wrongLogin,
      async end() {
        await Promise.all([provider.close(), wrongLogin.close(), server.standIn.close()])
      },
    }
  },
}
