import pack from '../../package.json' with { type: 'json' }

/** What is running: for `--version`, the log, metrics, console and health. */
export interface Build {
  readonly version: string
  /** The commit that an image was built from; empty where the build did not say, as in a checkout. */
  readonly commit: string
}

/** As package.json says it; the image's has the commit under the name that npm gives it in what it publishes. */
export const build: Build = {
  version: pack.version,
  commit: (pack as { readonly gitHead?: string }).gitHead ?? '',
}

/** `1.2.3`, or `1.2.3 (0123abc)` where the commit is known. */
export function formatBuild({ version, commit }: Build): string {
  return commit === '' ? version : `${version} (${commit})`
}
