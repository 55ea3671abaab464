import type { Config } from '../../config/config.ts'
import { type CheckResult, checkFailure, checkOk, checkWarning } from '../../runtime/check-result.ts'
import type { Renderer } from '../../words/render.ts'

/** Reports problems of the built-in templates and the operator's own; reading them tries each template with each kind. */
export function checkTemplates(config: Config, renderer: Renderer): readonly CheckResult[] {
  const problems = renderer.problems().map(({ file, line, reason, is }) => {
    const where = line === undefined ? file : `${file}:${line}`
    return is === 'refused'
      ? checkFailure(
          'templates',
          `${where}: ${reason}`,
          'mend the file in TEMPLATES_DIR; until then the built-in words are used',
        )
      : checkWarning('templates', `${where}: ${reason}`, 'see TEMPLATES_DIR, LOCALE and LOCALE_BY_COUNTRY')
  })
  const inFull = renderer
    .renderedInFull()
    .map(({ file, line, because }) =>
      checkOk(
        'templates',
        `${file}:${line}: rendered in full for every mail, which takes longer, because of ${because}`,
      ),
    )
  if (problems.length > 0) return [...problems, ...inFull]
  const own = config.TEMPLATES_DIR === undefined ? '' : ` and ${config.TEMPLATES_DIR}`
  return [
    ...inFull,
    checkOk('templates', `${config.LOCALE} (there are ${renderer.locales.join(', ')}); built in${own}`),
  ]
}
