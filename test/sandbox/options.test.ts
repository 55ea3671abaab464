import t from 'tap'
import { parseOptions } from '../../sandbox/options.ts'

t.test('without options the usual ports are taken and nothing is set', async t => {
  t.same(parseOptions([]), {
    is: 'run',
    options: { once: false, save: 'data/sandbox', ports: {}, settings: {} },
  })
})

t.test('ports, settings and the place to save are read', async t => {
  const argv = [
    '--once',
    '--save',
    'out',
    '--port',
    '0',
    '--page-port=8026',
    '--set',
    'BRAND_NAME=A=B',
    '--set',
    'LOCALE=zh-CN',
  ]
  t.same(parseOptions(argv), {
    is: 'run',
    options: {
      once: true,
      save: 'out',
      ports: { callbacks: 0, page: 8026 },
      settings: { BRAND_NAME: 'A=B', LOCALE: 'zh-CN' },
    },
  })
})

t.test('what cannot be read is a sentence', async t => {
  for (const [argv, fault] of [
    [['--port', 'x'], /--port must be a port number/],
    [['--admin-port', '70000'], /--admin-port must be a port number/],
    [['--set', 'LOCALE'], /NAME=VALUE/],
    [['--set', '=x'], /NAME=VALUE/],
    [['--set', 'LOCAL=en'], /no setting: did you mean LOCALE/],
    [['--set', 'SOMETHING=else'], /no setting; .callback-courier settings/],
    [['--set', 'PORT=1'], /what --port is for/],
    [['--port', ''], /--port must be a port number/],
    [['--port', '1e3'], /--port must be a port number/],
    [['--port', '9000', '--page-port', '9000'], /two of the ports are the same/],
    [['--twice'], /--twice/],
    [['once'], /once/],
  ] as const)
    t.match(parseOptions(argv), { is: 'fault', fault })
  t.same(parseOptions(['-h']), { is: 'help' })
})
