import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parseYaml, tellYamlFault } from '../../src/runtime/yaml-text.ts'

t.test('what is wrong with a file is said with its line, and nothing of it but names', async t => {
  const [a, n] = [{ enum: ['x', 'y'] }, { type: ['integer', 'null'] }]
  const items = { type: 'object', required: ['a'], properties: { a, n }, additionalProperties: false }
  const properties = { list: { type: 'array', items }, 'a/b': { minimum: 7 }, '~1': { minimum: 7 } }
  const isRight = new Ajv().compile({ type: 'object', properties, additionalProperties: false })
  const cases = readFileSync(join(import.meta.dirname, '../fixtures/yaml-faults.txt'), 'utf8')
  for (const each of cases.trimEnd().split('\n')) {
    const [text = '', expected] = each.split(' ⇒ ')
    const read = parseYaml(JSON.parse(text), isRight)
    const lines = ['list', 'list/1', 'list/1/a', 'list/7', 'none'].map(
      path => 'value' in read && read.lineAt(path.split('/')),
    )
    const told = 'fault' in read ? tellYamlFault(read.fault) : `lines ${lines.join(' ')}`
    t.equal(typeof told === 'string' ? told : `${String(told)} | ${told.in('zh-CN')}`, expected, text)
  }
})
