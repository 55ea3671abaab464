import { readFileSync } from 'node:fs'
import type { ConsolePage } from './page.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const STYLE = read('style.css')
const SCRIPT = read('live.js')

/** The files that every page of the console loads. */
export const layoutFiles: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/console/style.css',
    place: '',
    handle: () => ({ is: 'file', type: 'text/css; charset=utf-8', body: STYLE }),
  },
  {
    method: 'GET',
    path: '/console/live.js',
    place: '',
    handle: () => ({ is: 'file', type: 'text/javascript; charset=utf-8', body: SCRIPT }),
  },
]
