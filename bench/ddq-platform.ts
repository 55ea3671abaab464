import { createDeviceReporter, type Device } from '../sandbox/emulator/device-simulator.ts'
import { createEmulator, type Emulator } from '../sandbox/emulator/emulator.ts'
import { answerParent } from './child.ts'

/** The emulated platform in a process of its own, sending device messages at an even pace. */
const emulator: Emulator = await createEmulator()
const { ddq } = emulator
let serial = 0
const reporter = createDeviceReporter({ corpId: 'bench', now: Date.now, id: () => `m${(serial += 1)}` })
let pump: NodeJS.Timeout | undefined
let sent = 0
let alarms = 0
const TICK_MS = 5

const device = (id: number): Device => ({
  id,
  mac: 'A4C138F0112B',
  name: '',
  productId: 'bench-product',
  projectId: 'bench',
})

/** So many messages a second, one in `alarmEvery` of them an alarm of a device of its own; 0: none. */
function run(perSecond: number, alarmEvery: number): void {
  clearInterval(pump)
  if (perSecond === 0) return
  let due = 0
  let last = performance.now()
  pump = setInterval(() => {
    const now = performance.now()
    due += ((now - last) / 1000) * perSecond
    last = now
    for (; due >= 1; due -= 1) {
      // Those that nobody hears, while the line is cut, are not sent at all: they tell nothing.
      if (ddq.statistics().topics.length === 0) continue
      sent += 1
      if (alarmEvery > 0 && sent % alarmEvery === 0) {
        alarms += 1
        ddq.publish(reporter.alert(device(10_000_000 + alarms), true))
      } else ddq.publish(reporter.online(device(1 + (sent % 5000)), sent % 2 === 0))
    }
  }, TICK_MS)
}

answerParent(({ is, ...more }) => {
  switch (is) {
    case 'settings':
      return emulator.settings
    case 'run':
      run(Number(more['perSecond']), Number(more['alarmEvery'] ?? 0))
      return null
    case 'cut':
      return ddq.proxy.cut()
    case 'redeliver':
      ddq.setRedelivery(more['on'] === true)
      return null
    default:
      return { ...ddq.statistics(), sent, alarms }
  }
})
