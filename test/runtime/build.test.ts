import t from 'tap'
import pack from '../../package.json' with { type: 'json' }
import { build, formatBuild } from '../../src/runtime/build.ts'

t.same(build, { version: pack.version, commit: '' })
t.same([build, { version: '1.2.3', commit: '0123abc' }].map(formatBuild), [pack.version, '1.2.3 (0123abc)'])
