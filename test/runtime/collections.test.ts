import fc from 'fast-check'
import t from 'tap'
import { createObjectSet, createStringMap } from '../../src/runtime/collections.ts'

t.test('a bag holds what was put in and not taken out', async t => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 60 }), steps => {
      const bag = createObjectSet<number>()
      const inside = new Map<number, () => void>()
      steps.forEach((step, n) => {
        const [known] = [...inside.keys()].slice(step % (inside.size + 1))
        if (step % 2 === 0 || known === undefined) inside.set(n, bag.add(n))
        else {
          const takeOut = inside.get(known)
          inside.delete(known)
          takeOut?.()
          // Once more takes nothing else along.
          takeOut?.()
        }
      })
      t.same([...bag].sort(byNumber), [...inside.keys()].sort(byNumber))
    }),
    { numRuns: 50 },
  )
})

t.test('what is taken out of a bag while it is looked through makes no other be skipped', async t => {
  const bag = createObjectSet<{ end: () => void }>()
  const seen: unknown[] = []
  for (let n = 0; n < 5; n++) {
    const item = { end: () => {} }
    item.end = bag.add(item)
  }
  for (const item of bag) {
    seen.push(item)
    item.end()
  }
  t.equal(new Set(seen).size, 5)
  t.same([...bag], [])
})

t.test('a register knows its things by any name', async t => {
  const register = createStringMap<number>()
  const names = ['a', '__proto__', 'constructor', 'toString', '1', '']
  for (const [at, name] of names.entries()) {
    t.equal(register.get(name), undefined, `${name} is free`)
    register.set(name, at)
    register.set(name, at + 1)
  }
  t.equal(register.size, names.length)
  t.same([...register.names()].sort(), [...names].sort())
  for (const [at, name] of names.entries()) {
    t.equal(register.get(name), at + 1)
    register.delete(name)
    register.delete(name)
    t.equal(register.get(name), undefined)
  }
  t.equal(register.size, 0)
})

function byNumber(a: number, b: number): number {
  return a - b
}
