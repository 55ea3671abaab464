import pack from '../../package.json' with { type: 'json' }

/** The version that is running: for `--version`, the log, metrics, console and health. */
export interface Build {
  readonly version: string
  /** The commit that an image was built from; empty where the build did not say, as in a checkout. */
  readonly commit: string
}

/** The version in package.json. The image's copy has the commit as well, under `gitHead`, as packages that npm publishes have it. */
export const build: Build = {
  version: pack.version,
  commit: (pack as { readonly gitHead?: string }).gitHead ?? '',
}

/** Formats the version as `1.2.3`, or `1.2.3 (0123abc)` where the commit is known. */
export function formatBuild({ version, commit }: Build): string {
  return commit === '' ? version : `${version} (${commit})`
}
