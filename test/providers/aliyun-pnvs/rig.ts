import {
  type AliyunPnvsStandIn,
  type AliyunPnvsStandInOptions,
  createAliyunPnvsStandIn,
} from '../../../sandbox/carriers/aliyun-pnvs.ts'
import { createAliyunPnvsProvider } from '../../../src/providers/aliyun-pnvs.ts'
import type { TemplateCarrierSettings } from '../../../src/providers/template-carrier.ts'
import { startStandIn } from '../../rigs/stand-in.ts'
import { LOGIN, templatesOf } from '../aliyun/rig.ts'
import { CODE } from '../carrier.ts'
import { SHORT_HTTP } from '../short.ts'

export { LOGIN, NUMBER } from '../aliyun/rig.ts'
export const GIVEN = { signName: '示例认证', templateCode: '100001' }

export function startPnvs(options: Partial<AliyunPnvsStandInOptions> = {}) {
  return startStandIn<AliyunPnvsStandIn>(fault =>
    createAliyunPnvsStandIn({ ...LOGIN, ...GIVEN, fault, ...options }),
  )
}

export function openPnvs(url: string, settings: Partial<TemplateCarrierSettings> = {}) {
  const { signName: signature, templateCode: template } = GIVEN
  return createAliyunPnvsProvider({
    ...LOGIN,
    apiUrl: url,
    templates: templatesOf({ template, signature, params: { code: CODE, min: '5' } }),
    concurrency: 2,
    clock: { now: Date.now },
    limits: SHORT_HTTP,
    ...settings,
  })
}
