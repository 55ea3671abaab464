import type { ContractRig } from '../contract.ts'
import { startContract } from './rig.ts'

export const variants: Readonly<Record<string, () => Promise<ContractRig>>> = {
  'by a form, as Vonage': async () => startContract('vonage'),
  'by JSON, as Infobip': async () => startContract('infobip'),
}
