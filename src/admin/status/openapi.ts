import { API, OPERATIONS, type Operation } from './operations.ts'
import { ANSWERS, type JsonSchema } from './schemas.ts'

const FAILURES: Readonly<Record<string, string>> = {
  400: 'The request is not as described here; message says which field',
  401: 'No token, or a wrong one',
  403: 'A token that opens something else, or a page of somebody else',
  404: 'No such message, or no such path',
  413: 'The body is too large',
  415: 'The body is not JSON',
  421: 'A host name that is not served here (ADMIN_NAMES)',
  429: 'Too many wrong tokens; Retry-After says when to come again',
  500: 'An unexpected fault',
  503: 'The store does not answer',
}

const json = (schema: JsonSchema) => ({ content: { 'application/json': { schema } } })
const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** The OpenAPI document of the status API. `npm run openapi` writes it to docs/openapi.yaml; the API serves it, too. */
export function openApi(): JsonSchema {
  const failed = Object.fromEntries(
    Object.keys(FAILURES).map(status => [status, { $ref: `#/components/responses/Failed${status}` }]),
  )
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const [operationId, operation] of Object.entries<Operation>(OPERATIONS)) {
    const { method, path, summary, body, answer } = operation
    const described = {
      operationId,
      summary,
      parameters: [...parametersIn('path', operation.params), ...parametersIn('query', operation.query)],
      ...(body === undefined ? {} : { requestBody: { required: true, ...json(body) } }),
      responses: { 200: { description: summary, ...json(ref(answer)) }, ...failed },
    }
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'callback-courier status',
      version: '1',
      description:
        'What became of messages. Read-only: it shows recipients masked, and no content. On the private listener, with STATUS_TOKEN (or ADMIN_TOKEN) as bearer token. Within version 1 fields may be added, and none is removed.',
    },
    servers: [{ url: `http://127.0.0.1:9090${API}` }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: Object.fromEntries(
        Object.entries(FAILURES).map(([status, description]) => [
          `Failed${status}`,
          { description, ...json(ref('Failure')) },
        ]),
      ),
      schemas: ANSWERS,
    },
  }
}

function parametersIn(
  place: 'path' | 'query',
  schemas: Readonly<Record<string, JsonSchema>> = {},
): readonly JsonSchema[] {
  return Object.entries(schemas).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path',
    schema,
  }))
}
