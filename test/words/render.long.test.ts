import t from 'tap'
import { compareCosts } from '../rigs/processor-time.ts'
import { messageOf, rawOf, rendererFor } from './rendering.ts'

t.test('the recipients of one callback share the rendering', async t => {
  const renderer = rendererFor()
  const render = (count: number) => () => {
    const content = { params: {}, subject: 'Subject', plain: '<&>"'.repeat(8000), words: 'plain' } as const
    for (let at = 0; at < count; at += 1) {
      const rest = { recipient: `r${at}@example.org`, id: `${at}`.padStart(32, 'a') }
      rawOf(renderer, { ...messageOf('email', 'plain', {}, rest), content })
    }
  }
  const times = await compareCosts(render(50), render(1))
  t.ok(times < 25, `50 cost ${times.toFixed(1)} times as much as one`)
})
