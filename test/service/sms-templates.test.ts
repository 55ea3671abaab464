import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { openSmsTemplates } from '../../src/service/factories.ts'
import { enough, load } from '../config/settings.ts'
import { enterVirtualTime } from '../rigs/virtual-time.ts'

t.test(
  'each fault of templates that were changed is logged with its line, and that they are well again',
  async t => {
    const time = enterVirtualTime(t)
    const path = join(t.testdir(), 'templates.yaml')
    const good = 'twilio:\n  login-code:\n    mainland: { template: SMS_1, params: { code: code } }\n'
    writeFileSync(path, good)
    const said: string[] = []
    const log = pino(
      { base: null, timestamp: false },
      {
        write(line: string) {
          said.push(Object.values(JSON.parse(line)).join(' ').replace(path, 'FILE'))
        },
      },
    )
    const read: string[] = []
    const templates = await openSmsTemplates(load({ ...enough, SMS_TEMPLATES_FILE: path }), log, channel => {
      read.push(channel)
    })
    t.teardown(() => templates.close())
    await time.pass(5000)
    t.same(said, [])
    const faulty = 'twilio:\n  login-code:\n    mainland: { template: SMS_1, params: { code: word } }\n'
    writeFileSync(path, `${faulty}    abroad: { template: SMS_2, params: { code: number } }\n`)
    await time.pass(5000)
    const unknown =
      'twilio/login-code names a parameter that the kind does not have: choose from code, minute'
    t.same(said.splice(0), [`40 FILE 3 ${unknown} template problem`, `40 FILE 4 ${unknown} template problem`])
    t.same(read, [])
    writeFileSync(path, `${good}\n`)
    await time.pass(5000)
    t.same(said.splice(0), ['30 FILE templates read again'])
    t.same(read, ['sms'])
    templates.close()
    writeFileSync(path, faulty)
    await t.rejects(openSmsTemplates(load({ ...enough, SMS_TEMPLATES_FILE: path }), log))
    writeFileSync(path, good)
    await time.pass(5000)
    t.same(said, [], 'who refused does not look again')
  },
)
