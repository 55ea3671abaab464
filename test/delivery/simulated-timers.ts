import type { Timeline } from './simulation.ts'

interface SimulatedTimer {
  stopped: boolean
  unref(): SimulatedTimer
  refresh(): SimulatedTimer
}

/** Timers of this process that run by simulated time. Those that were set before, and setImmediate, stay real. */
export interface SimulatedTimers {
  /** Stops all that were set, as the end of a process does. */
  stopAll(): void
  uninstall(): void
}

/** Puts them in the place of the global ones until they are uninstalled. */
export function installTimers(time: Timeline): SimulatedTimers {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis
  let running = new Set<SimulatedTimer>()

  function start(happen: () => void, ms: number, again: boolean): SimulatedTimer {
    let armed = 0
    const timer: SimulatedTimer = { stopped: false, unref: () => timer, refresh: () => arm() }
    const arm = (): SimulatedTimer => {
      const mine = (armed += 1)
      time.after(Math.max(1, ms), () => {
        if (timer.stopped || mine !== armed) return
        if (again) arm()
        else running.delete(timer)
        happen()
      })
      return timer
    }
    running.add(timer)
    arm()
    return timer
  }

  const stop = (timer: SimulatedTimer | undefined): void => {
    if (timer === undefined) return
    timer.stopped = true
    running.delete(timer)
  }

  Object.assign(globalThis, {
    setTimeout: (happen: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
      start(() => happen(...args), ms, false),
    setInterval: (happen: () => void, ms: number) => start(happen, ms, true),
    clearTimeout: stop,
    clearInterval: stop,
  })
  return {
    stopAll() {
      for (const timer of running) timer.stopped = true
      running = new Set()
    },
    uninstall: () => void Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval }),
  }
}
