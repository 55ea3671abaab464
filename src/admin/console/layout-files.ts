import { readFileSync } from 'node:fs'
import type { ConsolePage } from './page.ts'

/** The files that every page of the console loads. */
export const layoutFiles: readonly ConsolePage[] = [
  layoutFile('style.css', 'text/css'),
  layoutFile('live.js', 'text/javascript'),
  layoutFile('copy.js', 'text/javascript'),
]

function layoutFile(name: string, type: string): ConsolePage {
  const body = readFileSync(new URL(name, import.meta.url), 'utf8')
  return {
    method: 'GET',
    path: `/console/${name}`,
    place: '',
    handle: () => ({ is: 'file', type: `${type}; charset=utf-8`, body }),
  }
}
