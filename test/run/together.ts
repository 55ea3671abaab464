import './error-scopes.ts'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Runs tests in this process: `node test/run/together.ts test/callback/callback-key.test.ts test/callback/body.test.ts`. They are
// loaded as one graph, because tap ends by itself once it has nothing to do, as it would have between one import and the
// next.
const files = process.argv.slice(2)
// tap names directories of tests by the arguments, and a file system takes no name of any length.
process.argv.splice(3)
const imports = files.map(file => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)}`)
await import(`data:text/javascript,${encodeURIComponent(imports.join('\n'))}`)
