# The digest is what counts: the image of October 2026, for amd64 and arm64. docs/operations.md says how to renew it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Production dependencies only, without their install scripts. The optional dependency is Node, which the image has.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
# The image installs nothing later, so it needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
 && ln -s /app/src/main.ts /usr/local/bin/callback-courier \
 && install -d -o 1000 -g 1000 -m 0700 /data
COPY --from=dependencies /app/node_modules /app/node_modules
COPY package.json /app/
COPY src /app/src
# The commit that --version, log, metrics and console say, by: docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD)
ARG COMMIT=
# A release fills these two; where the code is, only who publishes it knows.
ARG VERSION=
ARG SOURCE=
LABEL org.opencontainers.image.title=callback-courier \
      org.opencontainers.image.licenses=MIT \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.source=$SOURCE \
      org.opencontainers.image.revision=$COMMIT
RUN node -e "const file = '/app/package.json'; const pack = { ...require(file), gitHead: process.argv[1] }; \
      require('node:fs').writeFileSync(file, JSON.stringify(pack))" "$COMMIT"

# Without these the young generation of the heap and malloc's arenas grow with the machine. V8 limits the old generation to
# half of the container's memory. docs/operations.md says under Sizing how much memory to give it. V8 compiles in one thread
# beside the two that do the work, instead of in four: on two cores those took the time that answers waited for.
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=32 --v8-pool-size=1" \
    MALLOC_ARENA_MAX=2 \
    NODE_COMPILE_CACHE=/app/.compiled \
    ADMIN_HOST=0.0.0.0
# Here the store's default, file:data/outbox.db, is /data/outbox.db.
WORKDIR /
VOLUME /data
EXPOSE 8443 9090
RUN install -d -o 1000 -g 1000 /app/.compiled
USER 1000:1000
# Types are stripped and code is compiled once, here: a start without this cache takes half a second and 30 MB more. A
# processor of another kind ignores the cache, and nothing else changes.
RUN node /app/src/main.ts --help >/dev/null \
 && node --input-type=module -e "await import('/app/src/runtime/v8-flags.ts'); for (const part of ['service/process', 'service/device-alerts', 'outbox/sqlite/outbox', \
      'outbox/sqlite/worker', 'outbox/postgres/outbox', 'commands/serve', 'commands/check', \
      'commands/health', 'commands/urls', 'commands/send', 'commands/token', 'commands/preview', 'commands/backup']) \
      await import('/app/src/' + part + '.ts').catch(() => {}); \
      for (const file of (await import('node:fs')).readdirSync('/app/src/providers', { recursive: true })) \
      if (file.endsWith('.ts')) await import('/app/src/providers/' + file).catch(() => {}); \
      await import('/app/node_modules/twilio/lib/rest/api/v2010/account.js'); process.exit(0)"
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["callback-courier", "health"]
# Node is started without npm, which does not pass signals on well, and opens no debugger at a signal, not even before the program runs.
CMD ["node", "--disable-sigusr1", "/app/src/main.ts", "serve"]
