import { contractOf } from '../aliyun/contract.ts'
import { openPnvs, startPnvs } from './rig.ts'

export const variants = {
  'with the key of the SMS API': async () => contractOf(await startPnvs(), openPnvs, 'MOBILE_NUMBER_ILLEGAL'),
}
