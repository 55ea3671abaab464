import { writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { openApi } from './openapi.ts'

// `npm run openapi`: a changed operation changes the file; a test holds that they agree.
writeFileSync(
  new URL('../../../docs/openapi.yaml', import.meta.url),
  stringify(openApi(), { aliasDuplicateObjects: false, lineWidth: 120 }),
)
