import type { AnySchemaObject, ValidateFunction } from 'ajv'

/**
 * Fastify's option by which the shapes of requests are checked by an ajv of ours. Without it Fastify loads two compilers of
 * its own, 2 MB: one for requests, and one for answers, which nothing here has a schema of.
 */
export function schemaCompilers(compile: (schema: AnySchemaObject) => Pick<ValidateFunction, 'errors'>) {
  return {
    compilersFactory: {
      buildValidator:
        () =>
        ({ schema }: { readonly schema: AnySchemaObject }) =>
          compile(schema),
      buildSerializer: () => () => JSON.stringify,
    },
  }
}

/** Compiles a schema when it is first needed: what is asked seldom or never costs a start nothing. */
export function compileLater(compile: () => ValidateFunction): Pick<ValidateFunction, 'errors'> {
  let compiled: ValidateFunction | undefined
  const validate: { (data: unknown): unknown; errors?: ValidateFunction['errors'] } = data => {
    compiled ??= compile()
    const valid = compiled(data)
    validate.errors = compiled.errors
    return valid
  }
  return validate
}
