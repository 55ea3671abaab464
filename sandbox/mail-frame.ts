/**
 * Prepares a mail's HTML for a sandboxed frame: no script runs, nothing is fetched, and a link opens in a new tab. Only
 * a `<base>` is added to the mail.
 */
export function prepareMailForFrame(html: string): { readonly html: string; readonly policy: string } {
  const policy = [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src data:',
  ].join('; ')
  const base = '<base target="_blank">'
  const head = /<head\b[^>]*>/i.exec(html)
  if (!head) return { html: base + html, policy }
  const at = head.index + head[0].length
  return { html: html.slice(0, at) + base + html.slice(at), policy }
}
