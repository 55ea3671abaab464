import { type PresentableFault, presentableFault } from '../../runtime/fault.ts'

/** A fault as the log may have it; the two that are expected of a store explain themselves in words of ours. */
export function describeFault(error: Error): PresentableFault & { readonly message?: string } {
  const ours = error.name === 'StoreUnavailable' || error.name === 'BacklogFull'
  return { ...presentableFault(error), ...(ours ? { message: error.message } : {}) }
}
