import { writeFileSync } from 'node:fs'
import { envExample, PAGES, settingsPage } from './pages.ts'

// `npm run env:example`: a changed setting changes the files; a test holds that they agree.
for (const [path, text] of [
  ['.env.example', envExample('en')],
  ['.env.example.zh-CN', envExample('zh-CN')],
  [PAGES.en, settingsPage('en')],
  [PAGES['zh-CN'], settingsPage('zh-CN')],
] as const)
  writeFileSync(new URL(`../../${path}`, import.meta.url), text)
