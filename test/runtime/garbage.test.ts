import t from 'tap'
import { createCollectionSchedule } from '../../src/runtime/garbage.ts'

const MB = 1024 * 1024
const IDLE = { busyMs: 20, idleMs: 1980 }
const LOADED = { busyMs: 1600, idleMs: 400 }

/** Looks once and notes the size that is left when garbage is collected. */
function schedule() {
  const each = createCollectionSchedule(16 * MB)
  return (look: typeof IDLE, heap: number) => {
    const isDue = each.isDue({ ...look, heap: heap * MB })
    if (isDue) each.noteSize(30 * MB)
    return isDue
  }
}

const times = <T>(count: number, run: () => T): T[] => Array.from({ length: count }, run)

t.test('what a start leaves behind is collected as soon as there is nothing to do, once', async t => {
  const look = schedule()
  t.equal(look(LOADED, 80), false, 'a start, or a first callback')
  t.equal(look(IDLE, 80), true)
  t.equal(look(IDLE, 45), false, 'it has not grown enough since')
  t.equal(look(IDLE, 46), true)
})

t.test('a load that pauses for seconds finds its code and its young generation as it left them', async t => {
  const look = schedule()
  look(IDLE, 80)
  for (const pause of [1, 2, 5, 14]) {
    t.notOk(times(3, () => look(LOADED, 110)).includes(true), 'under load')
    t.notOk(times(pause, () => look(IDLE, 110)).includes(true), `idle for ${pause * 2} s`)
  }
})

t.test('what a burst leaves behind is collected after 30 s, within the minute', async t => {
  const look = schedule()
  look(IDLE, 80)
  times(3, () => look(LOADED, 110))
  t.strictSame(
    times(30, () => look(IDLE, 110))
      .flatMap((isDue, at) => (isDue ? [at] : []))
      .at(0),
    14,
  )
})

t.test('who is warm by many short loads is left alone, too', async t => {
  const look = schedule()
  look(IDLE, 80)
  t.notOk(times(20, () => look({ busyMs: 150, idleMs: 1850 }, 40)).includes(true))
  look(LOADED, 110)
  t.notOk(times(14, () => look(IDLE, 110)).includes(true))
  t.equal(look(IDLE, 110), true)
})
