import type { AnySchemaObject, ValidateFunction } from 'ajv'

/**
 * Makes the option of Fastify that has the shapes of requests checked by an ajv of ours. Without it Fastify loads two compilers of
 * its own, 2 MB: one for requests, and one for answers, for which there is no schema here.
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

/** Compiles a schema when it is first needed: one that is seldom or never used costs a start nothing. */
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
