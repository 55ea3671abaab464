import asyncHooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

// To fail the test that made an error which nobody caught, tap follows every promise and socket by async hooks, which is a
// tenth of the processor time of these tests. AsyncLocalStorage carries the same along for nothing. Loaded before tap.

const scopes = new AsyncLocalStorage<number>()

/** What tap runs its tests in: their promises, timers and sockets have its number. */
class TestScope extends AsyncResource {
  readonly #isTest: boolean

  constructor(type: string, options?: number | asyncHooks.AsyncResourceOptions) {
    super(type, options)
    this.#isTest = type.startsWith('tap.')
  }

  override runInAsyncScope<This, Result>(
    run: (this: This, ...given: unknown[]) => Result,
    self?: This,
    ...given: unknown[]
  ): Result {
    if (!this.#isTest) return super.runInAsyncScope(run, self, ...given)
    // Inside, since a resource brings back what was carried along when it was made.
    const inside = () => scopes.run(this.asyncId(), () => run.apply(self as This, given))
    return super.runInAsyncScope(inside)
  }
}

const hook: asyncHooks.AsyncHook = { enable: () => hook, disable: () => hook }
Object.assign(asyncHooks, {
  AsyncResource: TestScope,
  createHook: () => hook,
  executionAsyncId: () => scopes.getStore() ?? 0,
})
syncBuiltinESMExports()
