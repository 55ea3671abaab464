import { writeFileSync } from 'node:fs'
import { envExample } from './example.ts'

// `npm run env:example`: a changed setting changes the file; a test holds that they agree.
writeFileSync(new URL('../../.env.example', import.meta.url), envExample())
