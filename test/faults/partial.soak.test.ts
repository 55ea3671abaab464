import t from 'tap'
import { playThreeCarriers } from './partial.ts'

t.test('three carriers that each take 62 % of their requests carry nearly all', async t =>
  playThreeCarriers(t, Number(process.env['SEED'] ?? 20_261_122)),
)
