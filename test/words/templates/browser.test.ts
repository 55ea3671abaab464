import t from 'tap'
import { noBrowser, openBrowser } from '../../rigs/browser.ts'
import { lookAtMails } from './phone.ts'

t.test(
  'every mail, from left to right and from right to left, on a 320 px phone',
  { skip: noBrowser },
  async t => {
    const browser = await openBrowser()
    t.teardown(() => browser.close())
    await lookAtMails(t, browser, { colorScheme: 'light', locales: ['en', 'ar'] })
  },
)
