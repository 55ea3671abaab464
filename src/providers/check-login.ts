import { type CheckResult, checkFailure, checkOk } from '../runtime/check-result.ts'
import type { Provider } from './provider.ts'

/** Logs in at a provider, without sending anything. @param next what to look at when that fails for a reason that the provider has no advice for. */
export async function checkLogin(provider: Provider, next: string): Promise<CheckResult> {
  const { ok: works, detail, next: remedy = next } = await provider.verify()
  return works ? checkOk(provider.name, detail) : checkFailure(provider.name, detail, remedy)
}
