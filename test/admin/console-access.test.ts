import t from 'tap'
import { noBrowser } from '../rigs/browser.ts'
import { lookAtPages } from './accessibility.ts'

t.test('the first pages, light and narrow', { skip: noBrowser }, t =>
  lookAtPages(t, { colorSchemes: ['light'], most: 3 }),
)
