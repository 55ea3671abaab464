import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { load } from '../config/settings.ts'

const SOURCE = resolve(import.meta.dirname, '../../docker/enterprises')

t.test('the script makes what each enterprise needs, and replaces one after the other', async t => {
  const directory = join(t.testdir({}), 'enterprises')
  cpSync(SOURCE, directory, { recursive: true })
  const bin = join(directory, '..', 'bin')
  mkdirSync(bin)
  // Notes what it is asked to do; `bolt` does not become healthy.
  writeFileSync(
    join(bin, 'docker'),
    '#!/bin/sh\necho "$*" >>"$CALLS"\ncase "$*" in *psql*) cat >>"$CALLS" ;; *no-deps*bolt) exit 1 ;; esac\n',
    { mode: 0o755 },
  )
  const calls = join(bin, 'calls')
  const run = (...argv: string[]) => {
    writeFileSync(calls, '')
    const { status, stderr } = spawnSync(join(directory, 'enterprises.sh'), argv, {
      env: { PATH: `${bin}:${process.env['PATH']}`, CALLS: calls },
      encoding: 'utf8',
    })
    return { status, stderr, calls: readFileSync(calls, 'utf8') }
  }
  const read = (path: string) => readFileSync(join(directory, path), 'utf8')

  for (const name of ['acme', 'bolt', 'cogs'])
    t.equal(run('add', name, `corp-${name}`, `${name}.example.com`).status, 0)
  for (const wrong of ['Acme', '1a', 'a-b', 'a;b', 'postgres', ''])
    t.match(
      run('add', wrong, 'corp', 'host.example.com'),
      { status: 1, stderr: /a name has small letters/ },
      wrong,
    )
  t.match(run('add', 'acme', 'corp', 'host.example.com'), { status: 1, stderr: 'acme/.env is there already' })

  const settings = parseEnv(read('acme/.env'))
  const config = load({
    ...settings,
    EMAIL_TOKEN: 'kbXvWqzRtYpLmNhJgFdS',
    SMTP_URL: 'smtp://127.0.0.1:2525?ignoreTLS=true',
    MAIL_FROM: 'Acme <a@example.com>',
    ...parse(read('service.yaml')).services.courier.environment,
  })
  t.same(config.warnings, [])
  t.equal(config.CORP_ID, 'corp-acme')
  t.equal(statSync(join(directory, 'acme/.env')).mode & 0o777, 0o600)
  t.not(settings['STORE_SECRET'], parseEnv(read('bolt/.env'))['STORE_SECRET'])
  const { services } = parse(read('services.yaml'))
  t.same(Object.keys(services), ['acme', 'bolt', 'cogs'])
  t.match(services.bolt, { extends: { file: 'service.yaml', service: 'courier' }, env_file: 'bolt/.env' })
  t.same(services.bolt.volumes, ['./bolt/templates:/templates:ro'])
  t.equal(statSync(join(directory, 'bolt/templates')).mode & 0o777, 0o755, 'the container is another user')
  t.same(services.bolt.ports, undefined, 'callbacks come by Caddy alone')
  t.equal(parse(read('service.yaml')).services.courier.environment.TRUSTED_PROXIES, '172.30.32.2')
  t.equal(parse(read('compose.yaml')).services.caddy.networks.inside.ipv4_address, '172.30.32.2')
  t.match(read('sites.caddy'), 'bolt.example.com {\n\timport courier bolt\n}')
  t.same(JSON.parse(read('targets.json'))[2], { targets: ['cogs:9090'], labels: { enterprise: 'cogs' } })

  const up = run('up')
  t.equal(up.status, 0, up.stderr)
  t.match(
    up.calls,
    /up -d --wait postgres\n.*exec -T postgres psql .*CREATE SCHEMA IF NOT EXISTS cogs.*up -d --wait\n/s,
  )
  const upgrade = run('upgrade')
  t.match(upgrade, { status: 1, stderr: 'bolt is not healthy: the ones after it were left as they are' })
  t.match(upgrade.calls, /--no-deps --wait acme\n.*--no-deps --wait bolt\n$/)
})
