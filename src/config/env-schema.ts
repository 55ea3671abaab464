import { createRequire } from 'node:module'
import { Ajv } from 'ajv'

/**
 * env-schema, without most of its start: when it is loaded it compiles a schema of its own options, and for that the
 * schema of all schemas. Our options are right by their type. To be loaded before @fastify/env, which loads it, too.
 */
const spared: { compile?: unknown } = Ajv.prototype
spared.compile = () => () => true
export const { envSchema }: typeof import('env-schema') = createRequire(import.meta.url)('env-schema')
delete spared.compile
