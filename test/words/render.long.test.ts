import t from 'tap'
import { messageOf, rawOf, rendererFor } from './rendering.ts'

t.test('the recipients of one callback share the rendering', async t => {
  const renderer = rendererFor()
  const content = { params: {}, subject: 'Subject', plain: '<&>"'.repeat(8000), words: 'plain' } as const
  const render = (count: number) => {
    for (let at = 0; at < count; at += 1) {
      const rest = { recipient: `r${at}@example.org`, id: `${at}`.padStart(32, 'a') }
      rawOf(renderer, { ...messageOf('email', 'plain', {}, rest), content })
    }
  }
  // By this thread's processor time, and the least of some: what else this machine does is not compared.
  const leastMs = async (count: number) => {
    const times: number[] = []
    for (let n = 0; n < 8; n += 1) {
      const before = process.threadCpuUsage()
      render(count)
      const { user, system } = process.threadCpuUsage(before)
      times.push((user + system) / 1000)
      await Promise.resolve()
    }
    return Math.min(...times)
  }
  const [alone, together] = [await leastMs(1), await leastMs(50)]
  t.ok(together < alone * 25, `50 take ${together.toFixed(1)} ms, one ${alone.toFixed(1)} ms`)
})
