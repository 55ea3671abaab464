import t from 'tap'
import { fillLines, forTerminal, padColumn, showLocalTimes } from '../../src/runtime/terminal.ts'

t.test('a text fills its lines, in which Chinese takes two places, and keeps its margins', async t => {
  t.same(fillLines('  ab cd ef longer-than-a-line g\n\n一二，三四五（六七）：abc “八” \n x', 8), [
    '  ab cd',
    '  ef',
    '  longer-than-a-line',
    '  g',
    '',
    '一二，三',
    '四五（六',
    '七）：',
    'abc',
    '“八”',
    ' x',
  ])
  t.same(
    ['一，', 'abcde', 'abcdef'].map(each => padColumn(each, 5)),
    ['一， ', 'abcde', 'abcdef'],
  )
})

t.test('what would steer a terminal is dropped, and moments are those of its zone', async t => {
  t.equal(forTerminal('a\u001b[31m\u009b\u202e\tb\n\u2028c'), 'a[31m\tb\nc')
  const { TZ } = process.env
  t.teardown(() => (TZ === undefined ? Reflect.deleteProperty(process.env, 'TZ') : (process.env['TZ'] = TZ)))
  const shown = ['America/St_Johns', 'Asia/Kolkata', 'UTC'].map(zone => {
    process.env['TZ'] = zone
    return showLocalTimes('2026-11-21 02:04:01 UTC, 2026-99-99 00:00:00 UTC')
  })
  t.same(shown, [
    '2026-11-20 22:34:01 -03:30, 2026-99-99 00:00:00 UTC',
    '2026-11-21 07:34:01 +05:30, 2026-99-99 00:00:00 UTC',
    '2026-11-21 02:04:01 UTC, 2026-99-99 00:00:00 UTC',
  ])
})
