import t from 'tap'

// What test/run/main.test.ts has the runner run: more failures than it has lines for.
t.test('a test', async t => {
  for (let n = 0; n < 40; n += 1) t.equal(n, -1, `number ${n}`)
  t.pass('one that passes')
})
t.pass('another one')
