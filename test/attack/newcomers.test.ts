import t from 'tap'
import { startProcess } from '../rigs/process.ts'
import { startSinks } from '../rigs/service.ts'
import { playNewcomers, sources } from './newcomers.ts'

t.test('strangers who connect by thousands keep nobody out', async t => {
  const { settings, ca } = await startSinks(t)
  const { publicUrl: url, memory } = await startProcess(t, settings)
  // Old enough to be evicted by the strangers' own rate: a thousand places last for a third of a second.
  const { gotIn, perSecond } = await playNewcomers(t, {
    url,
    ca,
    order: { perSecond: 3000, from: sources(1) },
    roundTripMs: 400,
    callers: 2,
    leadMs: 400,
  })
  t.comment(`${perSecond} connects/s, ${Math.round(memory())} MB`)
  t.equal(gotIn, 2)
})
