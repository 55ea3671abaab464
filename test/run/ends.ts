import { writeSync } from 'node:fs'

// What test/run/main.test.ts has the runner run: a process that is killed, as by a kernel without memory.
writeSync(2, 'its last words\n')
process.kill(process.pid, 'SIGKILL')
