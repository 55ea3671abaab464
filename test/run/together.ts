import './error-scopes.ts'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

// Runs tests in this process: `node test/run/together.ts test/callback/callback-key.test.ts test/callback/body.test.ts`. They are
// loaded as one graph, because tap ends by itself once it has nothing to do, as it would have between one import and the
// next.
const files = [join(import.meta.dirname, 'report.ts'), ...process.argv.slice(2)]
const imports = files.map(file => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)}`)
await import(`data:text/javascript,${encodeURIComponent(imports.join('\n'))}`)
// A file that sets `jobs` of the whole lets all that follow run beside each other, also what changes what is common to them.
if (files.length > 2 && t.jobs > 1) t.fail('a file that sets `t.jobs` has a process of its own: see units.ts')
