import pack from '../../package.json' with { type: 'json' }

/**
 * The version that is running, from package.json: for `--version`, the log, metrics, console and health. The image's copy has the
 * commit that it was built from as well, under `gitHead`, as packages that npm publishes have it; empty: nobody says, as in a checkout.
 */
export const build = { version: pack.version, commit: (pack as { readonly gitHead?: string }).gitHead ?? '' }

export type Build = Readonly<typeof build>

/** Formats the version as `1.2.3`, or `1.2.3 (0123abc)` where the commit is known. */
export function formatBuild({ version, commit }: Build): string {
  return commit === '' ? version : `${version} (${commit})`
}
