import { say } from '../../language/sentence.ts'
import { layoutFiles } from './layout-files.ts'
import { messagePages } from './message.ts'
import { messageListPages } from './message-list.ts'
import { overviewPages } from './overview.ts'
import { type ConsolePage, notFound } from './page.ts'
import { sendPages } from './send.ts'
import { urlsPages } from './urls.ts'
import { wordsPages } from './words.ts'

const elsewhere: readonly ConsolePage[] = [
  {
    method: 'GET',
    path: '/',
    place: '/console',
    handle: () => ({ is: 'redirect', to: '/console', status: 302 }),
  },
  {
    method: 'GET',
    path: '/console/*',
    place: '/console',
    handle: () => notFound(say('There is no such page.'), '/console'),
  },
]

/** Every page of the console, those of the menu in its order. */
export const PAGES: readonly ConsolePage[] = [
  ...overviewPages,
  ...messageListPages,
  ...messagePages,
  ...wordsPages,
  ...sendPages,
  ...urlsPages,
  ...layoutFiles,
  ...elsewhere,
]
