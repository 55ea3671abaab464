import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { listeners } from '../../src/config/settings/callers.ts'
import { settingNames } from '../../src/config/settings.ts'
import { receiptPath } from '../../src/providers/receipts.ts'
import { enough, load } from '../config/settings.ts'
import { startRig } from '../rigs/service.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, 'docker', path), 'utf8')
const known = new Set<string>(settingNames)
const PORT = listeners.settings.PORT.default
const ADMIN_PORT = listeners.settings.ADMIN_PORT.default

/** What operators are told to give it. */
const [, megabytes = ''] =
  /Memory: give it (\d+) MB/.exec(readFileSync(join(root, 'docs/operations.md'), 'utf8')) ?? []

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment?: Readonly<Record<string, string>>
        readonly ports?: readonly string[]
        readonly volumes: readonly string[]
        readonly networks: Readonly<Record<string, { readonly ipv4_address?: string }>>
      }
    >
  >
  readonly networks: Readonly<Record<string, { readonly ipam: { config: { subnet: string }[] } }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

t.test('compose with Caddy: ours is reached through it alone', async t => {
  const { services, networks, volumes } = parse(read('compose.caddy.yaml')) as Compose
  const { courier, caddy } = services
  t.match(courier, {
    build: { context: '..' },
    env_file: '../.env',
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: `${megabytes}m`,
    stop_grace_period: '20s',
  })
  t.same(courier?.ports, [`127.0.0.1:${ADMIN_PORT}:${ADMIN_PORT}`], 'callbacks come by Caddy only')
  const settings = courier?.environment ?? {}
  for (const name of Object.keys(settings)) t.ok(known.has(name), `${name} is a setting`)
  const config = load({ ...enough, ...settings })
  t.equal(config.TLS, false)
  t.same(config.warnings, [])

  const address = caddy?.networks['front']?.ipv4_address ?? 'none'
  t.same(config.TRUSTED_PROXIES, [address], 'whose X-Forwarded-For is believed is Caddy')
  const [subnet = ''] = networks['front']?.ipam.config.map(each => each.subnet) ?? []
  t.ok(address.startsWith(subnet.replace(/0\/24$/, '')), `${address} is in ${subnet}`)
  t.hasProp(courier?.networks ?? {}, 'front')

  t.same(caddy?.ports, ['80:80', '443:443'])
  // The operator's own templates, for the path that .env.example.zh-CN shows.
  const theirs = '../templates'
  t.ok(courier?.volumes?.includes(`${theirs}:/templates:ro`))
  const mounts = [...(caddy?.volumes ?? []), ...(courier?.volumes ?? [])]
    .map(each => each.split(':')[0] ?? '')
    .filter(each => each !== theirs)
  for (const mount of mounts)
    t.ok(
      mount.startsWith('./') ? existsSync(join(root, 'docker', mount)) : Object.hasOwn(volumes, mount),
      mount,
    )
})

t.test('the Caddyfile passes on callbacks and reports, and logs no path', async t => {
  const { services } = parse(read('compose.caddy.yaml')) as Compose
  const caddyfile = read('Caddyfile').replace(/^\s*#.*$/gm, '')
  const placeholders = new Set([...caddyfile.matchAll(/\{\$(\w+)\}/g)].map(([, name]) => name))
  t.same(placeholders, new Set(Object.keys(services['caddy']?.environment ?? {})))
  t.match(caddyfile, `reverse_proxy courier:${PORT}`)
  const [, matcher = '', paths = ''] = /@(\w+) path (.*)/.exec(caddyfile) ?? []
  t.same(paths.split(' '), ['/callback/*', '/receipt/*'])
  t.ok(receiptPath('twilio').startsWith('/receipt/'))
  const handlers = [...caddyfile.matchAll(/^\thandle ?(\S*) \{\n\t\t(\w+)/gm)].map(([, which, does]) => [
    which,
    does,
  ])
  t.same(
    handlers,
    [
      [`@${matcher}`, 'reverse_proxy'],
      ['', 'respond'],
    ],
    'and everything else is answered there',
  )
  t.match(caddyfile, 'request>uri delete')
  const errors = [...caddyfile.matchAll(/"err_code":(\d+)/g)].map(([, code]) => Number(code))
  t.same(errors, [5_031_002], 'what is not reachable is answered as what cannot store')
})

interface NetworkPolicy {
  readonly podSelector: object
  readonly policyTypes: readonly string[]
  readonly ingress: readonly { readonly from: readonly object[]; readonly ports: readonly object[] }[]
  readonly egress: readonly { readonly ports: readonly { readonly port: number }[] }[]
}

type Manifest = Readonly<Record<string, unknown>> & { readonly kind: string; readonly spec?: never }

t.test('Kubernetes: settings, probes, ports and rights', async t => {
  const documents = parseAllDocuments(read('kubernetes.yaml'))
  t.same(
    documents.flatMap(each => [...each.errors, ...each.warnings]),
    [],
  )
  const manifests = documents.map(each => each.toJS() as Manifest)
  const one = (kind: string) => {
    const found = manifests.filter(each => each.kind === kind)
    t.equal(found.length, 1, `one ${kind}`)
    return found[0] as unknown as Record<string, Record<string, unknown>>
  }
  for (const { kind, metadata } of manifests)
    if (kind !== 'Namespace') t.match(metadata, { namespace: 'callback-courier' }, kind)

  const given = { ...one('ConfigMap')['data'], ...one('Secret')['stringData'] } as Record<string, string>
  for (const name of Object.keys(given)) t.ok(known.has(name), `${name} is a setting`)
  const config = load(
    Object.fromEntries(Object.keys(given).map(name => [name, examples[name] ?? given[name]])),
  )
  t.same(config.warnings, [])
  t.equal(config.DATABASE_URL.kind, 'postgres', 'two replicas share a store')

  const deployment = one('Deployment')
  t.match(deployment['spec'], { replicas: 2, strategy: { rollingUpdate: { maxUnavailable: 0 } } })
  const template = deployment['spec']?.['template'] as { spec: Record<string, unknown> }
  const pod = template.spec
  t.match(pod, {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 20,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    },
  })
  const [container = {}] = pod['containers'] as Record<string, unknown>[]
  t.match(container, {
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: { limits: { memory: `${megabytes}Mi` } },
    envFrom: [{ configMapRef: { name: 'callback-courier' } }, { secretRef: { name: 'callback-courier' } }],
  })
  const ports = Object.fromEntries(
    (container['ports'] as { name: string; containerPort: number }[]).map(each => [
      each.name,
      each.containerPort,
    ]),
  )
  t.same(ports, { callbacks: PORT, admin: ADMIN_PORT })

  // The probes ask for what a running service answers.
  const rig = await startRig(t)
  for (const name of ['readinessProbe', 'livenessProbe', 'startupProbe']) {
    const { httpGet } = container[name] as { httpGet: { path: string; port: string } }
    t.equal(httpGet.port, 'admin', name)
    t.equal((await fetch(`${rig.service().adminUrl}${httpGet.path}`)).status, 200, `${name} ${httpGet.path}`)
  }
  t.match(container['readinessProbe'], { httpGet: { path: '/readyz' } })
  t.match(
    container['livenessProbe'],
    { httpGet: { path: '/healthz' } },
    'a store that fails restarts nothing',
  )

  t.match(one('Service')['spec'], { ports: [{ port: PORT, targetPort: 'callbacks' }] })
  const rules = (
    one('Ingress')['spec'] as { rules: { http: { paths: { path: string; backend: unknown }[] } }[] }
  ).rules
  const paths = rules.flatMap(rule => rule.http.paths)
  t.same(
    paths.map(each => each.path),
    ['/callback', '/receipt'],
    'the private listener is on no ingress',
  )
  for (const { backend } of paths)
    t.match(backend, { service: { name: 'callback-courier', port: { name: 'callbacks' } } })
  t.match(one('PodDisruptionBudget')['spec'], { minAvailable: 1 })

  const policy = one('NetworkPolicy')['spec'] as unknown as NetworkPolicy
  t.same(policy.podSelector, (deployment['spec'] as { selector: object }).selector)
  t.same(policy.policyTypes, ['Ingress', 'Egress'])
  t.same(
    policy.ingress.map(each => [each.ports, each.from.length]),
    [
      [[{ port: 'callbacks', protocol: 'TCP' }], 1],
      [[{ port: 'admin', protocol: 'TCP' }], 1],
    ],
    'each door from one namespace',
  )
  const allowed = policy.egress.flatMap(each => each.ports.map(({ port }) => port))
  for (const url of [given['DATABASE_URL'], given['SMTP_URL']])
    t.ok(allowed.includes(Number(/:(\d+)(?:\/|$)/.exec(url ?? '')?.[1])), 'what it needs')
  t.match(given['DATABASE_URL'], '?sslmode=verify-full')
})

/** What an operator would write where the manifest has <…>. */
const examples: Readonly<Record<string, string>> = {
  CORP_ID: enough.CORP_ID,
  PUBLIC_URL: 'https://callbacks.example.com',
  TRUSTED_PROXIES: '10.0.0.0/8',
  MAIL_FROM: enough.MAIL_FROM,
  TWILIO_ACCOUNT_SID: enough.TWILIO_ACCOUNT_SID,
  TWILIO_FROM: enough.TWILIO_FROM,
  DEFAULT_AREA_CODE: '86',
  EMAIL_TOKEN: enough.EMAIL_TOKEN,
  SMS_TOKEN: enough.SMS_TOKEN,
  SMTP_URL: enough.SMTP_URL,
  TWILIO_AUTH_TOKEN: enough.TWILIO_AUTH_TOKEN,
  DATABASE_URL: 'postgres://courier:password@postgres.example.com:5432/callback_courier?sslmode=verify-full',
  STORE_SECRET: 'a-long-random-text-of-ones-own',
  ADMIN_TOKENS: 'sixteen-or-more-characters metrics/prometheus:for-Prometheus-and-nobody-else',
}
