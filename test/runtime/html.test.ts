import t from 'tap'
import { escapeHtml } from '../../src/runtime/html.ts'

t.equal(
  escapeHtml(`<a href="/?a=1&b=2">it's</a>`),
  '&lt;a href=&#34;/?a=1&amp;b=2&#34;&gt;it&#39;s&lt;/a&gt;',
)
