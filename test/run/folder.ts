import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { testsOf } from './units.ts'

// Runs the short tests of folders in this process: `node test/run/folder.ts test/callback`. They are loaded as one
// graph, because tap ends by itself once it has nothing to do, as it would have between one import and the next.
const folders = process.argv.slice(2)
// tap names directories of tests by the arguments, and a file system takes no name of any length.
process.argv.splice(3)
const imports = folders
  .flatMap(folder => testsOf(folder))
  .map(file => `import ${JSON.stringify(pathToFileURL(join(process.cwd(), file)).href)}`)
await import(`data:text/javascript,${encodeURIComponent(imports.join('\n'))}`)
