import type { Observer } from './event-log.ts'

/** Tells several observers as one: each event goes to each of them, in order. */
export function observeAll(observers: readonly Observer[]): Observer {
  const tell =
    <K extends keyof Observer>(what: K) =>
    (event: Parameters<Observer[K]>[0]) => {
      for (const each of observers) (each[what] as (event: Parameters<Observer[K]>[0]) => void)(event)
    }
  return {
    callback: tell('callback'),
    stray: tell('stray'),
    fault: tell('fault'),
    overQuota: tell('overQuota'),
    nearQuota: tell('nearQuota'),
    duplicate: tell('duplicate'),
    superseded: tell('superseded'),
    unrenderable: tell('unrenderable'),
    attempt: tell('attempt'),
    final: tell('final'),
    breaker: tell('breaker'),
    storeFailed: tell('storeFailed'),
  }
}
