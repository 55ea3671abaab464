import t from 'tap'
import { outlive } from './partial.ts'

t.test('a server is gone; what came meanwhile is sent when a look finds it back', t =>
  Promise.all([outlive(t, 'email'), outlive(t, 'sms')]),
)
