import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

// tap makes the directories of tests beside the code, and names them by all arguments, which no file system takes at any
// length. Here they are where everything is that is temporary.
t.testdirName = join(tmpdir(), `tests-${process.pid}`)
// Before tap removes one that is not beside the code it goes there, and stays; tests read files of the project.
process.chdir = () => {}
