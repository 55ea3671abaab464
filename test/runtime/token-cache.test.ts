import { readFileSync } from 'node:fs'
import t from 'tap'
import { createTokenCache } from '../../src/runtime/token-cache.ts'

t.test('a token is asked for once for all, again when refused, and early', async t => {
  let [now, asked] = [0, 0]
  const answers = [{ no: 1 }, 'broken', 'a', { no: 2 }, 'broken', 'b', 'c', 'd']
  const cache = createTokenCache<{ readonly no: number }>(
    async () => {
      const answer = answers[asked++] ?? 'broken'
      // Its life counts from the question on.
      now += 1000
      if (answer === 'broken') throw new Error(answer)
      return typeof answer === 'string' ? { token: answer, livesMs: 200_000 } : answer
    },
    () => now,
  )
  const steps: readonly (readonly [at: number, refused?: string, leastAgeMs?: number])[] = [
    ...[0, 10_000, 20_000, 179_999, 180_000, 209_999, 210_000, 219_999, 220_000].map(at => [at] as const),
    [222_000, 'a'],
    [279_999, 'b', 60_000],
    [280_000, 'b', 60_000],
    [281_000, 'c'],
  ]
  let got = ''
  for (const [at, refused = '', leastAgeMs] of steps) {
    now = at
    cache.refused(refused, leastAgeMs)
    const both = [1, 2].map(() => cache.getToken().catch((error: Error) => [error.message]))
    const [one, other] = await Promise.all(both)
    t.same(one, other)
    got += `at ${at}: asked ${asked} times, ${Object.values(one ?? {}).join(' until ')}\n`
  }
  t.equal(got, readFileSync(new URL('../fixtures/token-cache.txt', import.meta.url), 'utf8'))
})
