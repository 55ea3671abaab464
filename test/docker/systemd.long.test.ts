import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const skip =
  spawnSync('systemd-analyze', ['--version']).status === 0
    ? false
    : 'no systemd-analyze: the unit is not looked at here'

t.test(
  'docker/callback-courier.service is right, waits, never gives up and shuts the service in',
  { skip },
  async t => {
    const unit = readFileSync(join(import.meta.dirname, '../../docker/callback-courier.service'), 'utf8')
    for (const line of [
      'Wants=network-online.target',
      'After=network-online.target',
      'StartLimitIntervalSec=0',
      'Restart=always',
    ])
      t.ok(unit.split('\n').includes(line), line)
    // It is checked whether its program is there, so here is one.
    const place = t.testdir({})
    const program = join(place, 'node_modules/.bin/node')
    mkdirSync(join(place, 'node_modules/.bin'), { recursive: true })
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    const file = join(place, 'callback-courier.service')
    writeFileSync(file, unit.replaceAll('/srv/callback-courier', place))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    t.equal(verified.status, 0)
    t.notMatch(verified.stderr, /callback-courier/, 'nothing is said of it')
    const rated = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=20', '--no-pager', file],
      { encoding: 'utf8' },
    )
    t.equal(rated.status, 0, rated.stdout.trim().split('\n').at(-1) ?? '')
  },
)
