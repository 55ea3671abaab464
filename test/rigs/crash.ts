/**
 * Loaded into the service's process before it: on SIGUSR2 something throws that nobody expected, with what must not be
 * said in its message, its cause and its lines; the environment says whether as an exception or as a rejection.
 */
process.on('SIGUSR2', () => {
  const canary = process.env['CRASH_CANARY'] ?? ''
  const error = new Error(`while sending ${canary}\n    at ${canary}\n\u001b[31m${canary}`, {
    cause: new Error(canary),
  })
  if (process.env['CRASH_AS'] === 'rejection') void Promise.reject(error)
  else if (process.env['CRASH_AS'] === 'text') void Promise.reject(canary)
  else throw error
})
