import t from 'tap'
import { createToken } from '../../src/commands/token.ts'
import { isGuessable } from '../../src/config/guessable.ts'

t.test('tokens that guessers try', async t => {
  for (const token of [
    '1234567890123456',
    '6543210987654321',
    'abcdefghijklmnop',
    'qwertyuiopasdfgh',
    'QWERTYUIOPasdfgh',
    '1qaz2wsx3edc4rfv',
    '1q2w3e4r5t6y7u8i',
    'abcd1234abcd1234',
    'kRt9kRt9kRt9kRt9',
    'kRt9!xVkRt9!xVkRt9',
    'password12345678',
    'Admin1234567890!',
    'changeme-changeme',
    'a-long-random-password',
    'aaaaaaaabbbbbbbb',
    'callback-courier-2024',
    'iloveyou12345678',
    'a'.repeat(24),
    'P4ssw0rd!P4ssw0rd?',
    'Sunshine-Princess-99',
    'Winter2026Winter2026!x',
    'kX9mQ2vRkX9mQ2vR',
  ])
    t.equal(isGuessable(token), true, token)
})

t.test('tokens that are made at random are none', async t => {
  const made = Array.from({ length: 2000 }, () => createToken())
  t.same(made.filter(isGuessable), [])
  for (const token of ['correct-horse-battery', 'a-password-of-ones-own', '9f86d081884c7d659a2feaa0c55ad015'])
    t.equal(isGuessable(token), false, token)
  t.equal(isGuessable('kX9mQ2vRtWkX9m'), false, 'nor is one of which only the end repeats the beginning')
})
