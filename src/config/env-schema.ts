import { createRequire } from 'node:module'
import { Ajv } from 'ajv'

/**
 * env-schema, without a third of its start: when it is loaded it compiles a schema of its own options, and for that the
 * schema of all schemas, to prove what its own tests prove. To be loaded before @fastify/env, which loads it, too.
 */
const lenient: { validateSchema?: unknown } = Ajv.prototype
lenient.validateSchema = () => true
export const { envSchema }: typeof import('env-schema') = createRequire(import.meta.url)('env-schema')
delete lenient.validateSchema
