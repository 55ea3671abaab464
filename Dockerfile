FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Production dependencies only, and none of their install scripts. The optional ones are Node itself, which is here.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# Nothing in here installs anything again.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
 && ln -s /app/src/main.ts /usr/local/bin/callback-courier \
 && install -d -o 1000 -g 1000 -m 0700 /data
COPY --from=dependencies /app/node_modules /app/node_modules
COPY package.json /app/
COPY src /app/src

# The young part of the heap and malloc's arenas would otherwise grow with the machine; the old part is bounded by the
# container's memory, half of which V8 takes at most. What to give it stands in docs/operations.md under Sizing.
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=32" \
    MALLOC_ARENA_MAX=2 \
    NODE_COMPILE_CACHE=/app/.compiled \
    ADMIN_HOST=0.0.0.0
# Here the store's default, file:data/outbox.db, is /data/outbox.db.
WORKDIR /
VOLUME /data
EXPOSE 8443 9090
RUN install -d -o 1000 -g 1000 /app/.compiled
USER 1000:1000
# Types are stripped and code is compiled once, here: a start that has to load the compiler takes half a second and
# 30 MB more. On another kind of processor this is not used, and nothing else changes.
RUN node /app/src/main.ts --help >/dev/null \
 && node --input-type=module -e "await import('/app/src/runtime/v8-flags.ts'); for (const part of ['service/process', 'service/device-alerts', 'outbox/sqlite/outbox', \
      'outbox/sqlite/worker', 'outbox/postgres/outbox', 'commands/serve', 'commands/check', \
      'commands/health', 'commands/urls', 'commands/send', 'commands/token', 'commands/preview']) \
      await import('/app/src/' + part + '.ts').catch(() => {}); \
      for (const file of (await import('node:fs')).readdirSync('/app/src/providers', { recursive: true })) \
      if (file.endsWith('.ts')) await import('/app/src/providers/' + file).catch(() => {}); \
      await import('/app/node_modules/twilio/index.js'); process.exit(0)"
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["callback-courier", "health"]
# No npm in between: it does not pass signals on well.
CMD ["node", "/app/src/main.ts", "serve"]
