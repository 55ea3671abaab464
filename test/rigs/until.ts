/** As timers are at the start: a test may put others in their place. */
const { setTimeout: later, clearTimeout: forget } = globalThis

/** Resolves when `is` holds. It has no limit of its own: the run ends what makes no progress, and this says before what it waits for. */
export async function until(is: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const say = later(() => process.stderr.write(`# still waits: ${what}\n`), 30_000)
  try {
    while (!(await is())) await new Promise(resolve => later(resolve, 5))
  } finally {
    forget(say)
  }
}
