import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commandNames } from '../../src/commands/run.ts'
import { settingNames } from '../../src/config/settings.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const COMMANDS = commandNames.join('|')
const SETTINGS = new Set<string>(settingNames)

/** What a page names that must not differ between its languages, each kind sorted. */
function namesIn(page: string) {
  const prose = page.replaceAll(/^```[\s\S]*?^```/gm, '')
  const all = (text: string, pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([whole, part]) => part ?? whole))].sort()
  return {
    settings: all(page, /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g).filter(
      name => SETTINGS.has(name.replace(/_FILE$/, '')) || SETTINGS.has(name),
    ),
    commands: all(page, new RegExp(`\\b(?:courier (?:${COMMANDS})|(?:compose|kubectl) [a-z]+)\\b`, 'g')),
    codes: all(page, /\b[245]\d{6}\b/g),
    alerts: all(page, /\bCallbackCourier\w+/g),
    metrics: all(page, /\bcallback_courier_\w+/g),
    code: all(prose, /`([^`\n]+)`/g).filter(span => /[a-z]{2}/.test(span) && !/[\u3400-\u9fff]/.test(span)),
    sections: page.match(/^## /gm)?.length,
    blocks: page.match(/^ *```\w/gm)?.length,
  }
}

/** Pages with their English originals. */
const PAGES = [
  ['README.zh-CN.md', 'README.md'],
  ...globSync('docs/zh-CN/*.md', { cwd: ROOT }).map(page => [page, page.replace('zh-CN/', '')] as const),
] as const

t.test(
  'a page in Chinese names the settings, commands and codes that its English original names',
  async t => {
    t.ok(PAGES.length >= 4, `${PAGES.length} pages`)
    for (const [page, original] of PAGES) t.same(namesIn(read(page)), namesIn(read(original)), page)
  },
)
