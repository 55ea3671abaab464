import { createCertificate } from '../../sandbox/certificate.ts'
import { loadStandIn } from '../../sandbox/stand-ins.ts'
import { providerModules } from '../../src/providers/list.ts'
import { answerParent } from '../child.ts'

/** The sandbox's stand-in of every SMS carrier, over plain HTTP: what settings they need, and which templates they have. */
const certificate = await createCertificate(Date.now())
const names = providerModules.filter(({ channel }) => channel === 'sms').map(({ name }) => name)
const started = await Promise.all(
  names.map(async name => {
    const { start } = await loadStandIn(name)
    const standIn = await start({ certificate, clock: { now: Date.now }, changed: () => undefined })
    return { name, standIn }
  }),
)

answerParent(() => ({
  settings: Object.assign({}, ...started.map(({ standIn }) => standIn.settings)) as object,
  templates: Object.fromEntries(
    started.flatMap(({ name, standIn }) =>
      standIn.channel === 'sms' && standIn.route.templates ? [[name, standIn.route.templates]] : [],
    ),
  ),
}))
