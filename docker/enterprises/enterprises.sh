#!/bin/sh
# Several enterprises, a container and a schema each (docs/enterprises.md).
#
#   enterprises.sh add NAME CORP_ID HOST   makes NAME/.env for an enterprise, to fill in
#   enterprises.sh up                      makes roles and schemas that lack, and starts what is not running
#   enterprises.sh upgrade                 gives each a container of the image callback-courier, one after the other
#   enterprises.sh sql                     says what SQL makes roles and schemas, for a Postgres of your own
#   enterprises.sh compose …               any command of compose, such as: exec acme callback-courier check
set -eu
umask 077
cd "$(dirname "$0")"

fail() { echo "enterprises.sh: $1" >&2; exit 1; }
random() { head -c 24 /dev/urandom | base64 | tr '+/' 'xy'; }
names() { for file in */.env; do [ -f "$file" ] && dirname "$file"; done; }
setting() { sed -n "s/^$2=//p" "$1/.env"; }
compose() { docker compose -f compose.yaml -f services.yaml "$@"; }

add() {
  case $1 in '' | *[!a-z0-9_]* | [!a-z]* | public | postgres | caddy | prometheus) fail "$1: a name has small letters, digits and _" ;; esac
  [ ! -e "$1/.env" ] || fail "$1/.env is there already"
  [ -f .env ] || echo "POSTGRES_PASSWORD=$(random)" >.env
  # Prometheus reads it as another user; it opens nothing but figures.
  [ -f metrics-token ] || { random >metrics-token && chmod 644 metrics-token; }
  mkdir -p "$1/templates" && chmod 755 "$1/templates"
  cat >"$1/.env" <<END
CORP_ID=$2
PUBLIC_URL=https://$3
DATABASE_URL=postgres://$1:$(random)@postgres:5432/courier?sslmode=disable
STORE_SECRET=$(random)
ADMIN_TOKENS=$(random) metrics/prometheus:$(cat metrics-token)
ADMIN_NAMES=$1
EMAIL_TOKEN=
SMTP_URL=
MAIL_FROM=
END
  echo "fill in docker/enterprises/$1/.env (docs/settings.md), then: enterprises.sh up"
}

# Writes what is made of the list of enterprises.
render() {
  { echo 'services:' && for name in $(names); do
    printf '  %s:\n    extends: { file: service.yaml, service: courier }\n    depends_on: { postgres: { condition: service_healthy } }\n    env_file: %s/.env\n    volumes: ["./%s/templates:/templates:ro"]\n' "$name" "$name" "$name"
  done; } >services.yaml
  for name in $(names); do
    printf '%s {\n\timport courier %s\n}\n' "$(setting "$name" PUBLIC_URL | sed 's|^https://||')" "$name"
  done >sites.caddy
  { comma='[' && for name in $(names); do
    printf '%s{"targets":["%s:9090"],"labels":{"enterprise":"%s"}}' "$comma" "$name" "$name" && comma=','
  done && echo ']'; } >targets.json
  chmod 644 services.yaml sites.caddy targets.json
}

# A role owns its schema, which has its name: so it finds its own tables first, and cannot read the others'.
sql() {
  echo 'REVOKE ALL ON SCHEMA public FROM PUBLIC;'
  for name in $(names); do
    password=$(setting "$name" DATABASE_URL | sed 's|^postgres://[^:]*:\([^@]*\)@.*|\1|')
    cat <<END
DO \$\$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$name') THEN
    CREATE ROLE $name LOGIN CONNECTION LIMIT 16;
  END IF;
  EXECUTE format('ALTER ROLE $name PASSWORD %L', '$password');
END \$\$;
CREATE SCHEMA IF NOT EXISTS $name AUTHORIZATION $name;
END
  done
}

case ${1-} in
  add) [ $# = 4 ] || fail 'add NAME CORP_ID HOST'; add "$2" "$3" "$4"; render ;;
  render) render ;;
  sql) sql ;;
  up)
    render
    compose up -d --wait postgres
    sql | compose exec -T postgres psql --quiet --set ON_ERROR_STOP=1 --username postgres courier
    compose up -d --wait
    compose exec -T caddy caddy reload --config /etc/caddy/Caddyfile
    ;;
  upgrade)
    render
    # The first one that does not become healthy stops it: the others go on as they are.
    for name in $(names); do
      compose up -d --no-deps --wait "$name" || fail "$name is not healthy: the ones after it were left as they are"
    done
    ;;
  compose) shift && render && compose "$@" ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
