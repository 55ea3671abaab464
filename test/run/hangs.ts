import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import t from 'tap'

// What test/run/main.test.ts has the runner run: a test that never ends, and a process that it has started. Both are
// connected with the test for as long as they live.
const port = Number(process.env['HANGS_PORT'])
t.testdir({ file: 'left behind' })
connect(port, '127.0.0.1')
spawn(process.execPath, ['-e', `require('node:net').connect(${port}, '127.0.0.1')`], { stdio: 'ignore' })
t.test('never ends', () => new Promise(() => {}))
