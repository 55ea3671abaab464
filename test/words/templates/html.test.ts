import { HtmlValidate, StaticConfigLoader } from 'html-validate'
import t from 'tap'
import { sampleMessage, samples, withRequiredOnly } from '../../../src/messages/samples.ts'
import { rendererFor } from '../rendering.ts'

/**
 * The recommended rules, less those that a mail has to break: tables with presentational attributes are what mail
 * clients lay out by, and styles must be inline because many drop the sheet.
 */
const loader = new StaticConfigLoader({
  extends: ['html-validate:recommended', 'html-validate:document', 'html-validate:a11y'],
  rules: {
    'no-deprecated-attr': 'off',
    'no-inline-style': 'off',
    'prefer-tbody': 'off',
  },
})
const config = await loader.getConfigFor('mail.html')
// It is resolved once: that takes longer than to read a mail.
loader.getConfigFor = () => config
const validator = new HtmlValidate(loader)

const renderer = rendererFor()

for (const sample of samples.filter(({ channel }) => channel === 'email')) {
  t.test(`${sample.name} is valid html in every language, and sparse in both directions`, async t => {
    for (const locale of renderer.locales) {
      // The frame of a sparse one is the same in all languages of a direction.
      const isOne = locale === 'en' || locale === 'ar'
      for (const one of isOne ? [sample, withRequiredOnly(sample)] : [sample]) {
        const { html } = renderer.viewMail(sampleMessage(one, locale))
        const report = await validator.validateString(html)
        t.same(
          report.results.flatMap(({ messages }) =>
            messages.map(({ ruleId, message, line }) => `${line} ${ruleId}: ${message}`),
          ),
          [],
          locale,
        )
      }
    }
  })
}
