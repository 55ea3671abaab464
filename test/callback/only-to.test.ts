import t from 'tap'
import { createIsNamed } from '../../src/callback/only-to.ts'

t.test('ONLY_TO names a recipient however it is written, and nobody beside it', async t => {
  const isNamed = createIsNamed(['+8613800138000', 'Ann.Lee@gmail.com', '@qa.example.com', '@gmx.example'])
  const right = [
    '+8613800138000',
    'ann.lee@gmail.com',
    'A.n.n.l.e.e+trial@GoogleMail.com',
    'anybody@qa.example.com',
    'bob@QA.Example.com',
  ]
  const wrong = [
    '+8613800138001',
    '+861380013800',
    'bob@gmail.com',
    'ann.lee@gmail.com.example.net',
    'bob@example.com',
    'bob@x.qa.example.com',
    'bob@eqa.example.com',
    'qa.example.com@example.net',
  ]
  const content = { params: {}, words: 'ours' } as const
  for (const recipient of right) t.ok(isNamed({ recipient, content }), recipient)
  for (const recipient of wrong) t.notOk(isNamed({ recipient, content }), recipient)
  t.notOk(
    createIsNamed(['@ann.fastmail.com'])({ recipient: 'bob@fastmail.com', content }),
    'a domain is no mailbox',
  )
})
