import type { ReaderLanguage, Words } from '../../language/sentence.ts'
import { Sentence, say, tell, term, unpackWords } from '../../language/sentence.ts'
import type { AttemptRecord } from '../../outbox/outbox.ts'
import { build, formatBuild } from '../../runtime/build.ts'
import { escapeHtml } from '../../runtime/html.ts'

/** A piece of HTML that may be put into another one as it is, in whatever language its reader has. */
export class Html {
  readonly #write: (language: ReaderLanguage) => string

  constructor(write: (language: ReaderLanguage) => string) {
    this.#write = write
  }

  in(language: ReaderLanguage): string {
    return this.#write(language)
  }
}

export type HtmlPiece = Html | Sentence | string | number | null | undefined | false | readonly HtmlPiece[]

function toHtml(piece: HtmlPiece, language: ReaderLanguage): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'string') return escapeHtml(piece)
  if (typeof piece === 'number') return String(piece)
  if (piece instanceof Html) return piece.in(language)
  if (piece instanceof Sentence) return escapeHtml(piece.in(language))
  return piece.map(each => toHtml(each, language)).join('')
}

/** Writes HTML: everything put in is escaped, unless it was written by this function itself. */
export function html(strings: TemplateStringsArray, ...pieces: readonly HtmlPiece[]): Html {
  return new Html(language => {
    let text = strings[0] ?? ''
    pieces.forEach((piece, at) => {
      text += toHtml(piece, language) + (strings[at + 1] ?? '')
    })
    return text
  })
}

export interface Page {
  readonly title: Sentence | string
  /** Path of the place in the menu that this page belongs to. */
  readonly place: string
  readonly content: Html
  /** ms since the epoch. */
  readonly now: number
  readonly menu: readonly { readonly path: string; readonly name: Sentence }[]
  /** How often a browser with JavaScript loads the page again, ms; absent: never. */
  readonly liveMs?: number
}

/** A whole page in a reader's language. */
export function renderPage(
  { title, place, content, now, menu, liveMs }: Page,
  language: ReaderLanguage,
): string {
  return `<!doctype html>${html`<html lang="${language}" data-live="${liveMs ?? 0}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · callback-courier</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/style.css">
<script src="/console/time.js" defer></script>
<script src="/console/live.js" defer></script>
<script src="/console/copy.js" defer></script>
</head>
<body>
<a class="skip" href="#content">${say('To the content')}</a>
<header><div class="in"><strong>callback-courier</strong>
<nav aria-label="${say('Console')}">${menu.map(({ path, name }) => html`<a href="${path}"${path === place ? html` aria-current="page"` : ''}>${name}</a>`)}</nav>
<time id="clock" data-lost="${say('no answer; trying again')}">${clockTime(now)}</time></div></header>
<p id="news" class="unseen" role="status"></p>
<main id="content" tabindex="-1"><h1>${title}</h1>
${content}
</main>
<footer>callback-courier ${formatBuild(build)}</footer>
</body>
</html>`.in(language)}`
}

/** `2026-11-21 02:04:01 UTC`: the one form of a moment, in which whoever shows it finds it, and puts it into the reader's zone. */
export function clockTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** A moment, readable and exact. */
export function timeElement(at: number | null): Html {
  return at === null ? html`–` : html`<time datetime="${new Date(at).toISOString()}">${clockTime(at)}</time>`
}

/**
 * A provider's reply with its code, unless the reply begins with it already, or says a code that is a word; a colon is behind a code that is a word. What
 * this service itself says of an attempt is in the reader's language, behind a code as well.
 */
export function describeReply({ code, reply }: { readonly code: string; readonly reply: Words }): Sentence {
  const [text, english] = [tell(reply), String(reply)]
  if (english === '') return term(code)
  if (english.startsWith(code) || (!/\d/.test(code) && english.includes(code))) return text
  if (!/\d/.test(code)) return say('{about}: {what}', { about: code, what: text })
  return say('{code} {what}', { code, what: text })
}

/** The same of a line of a timeline. */
export function describeRecord({ code, reply }: AttemptRecord): Sentence {
  return describeReply({ code, reply: unpackWords(reply) })
}

/** A length of time in the two largest units: `1.2 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(ms: number): Sentence {
  if (ms < 1000) return say('{n} ms', { n: Math.round(ms) })
  if (ms < 60_000) return say('{n} s', { n: (ms / 1000).toFixed(1) })
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return say('{m} min {s} s', { m: minutes, s: Math.floor((ms % 60_000) / 1000) })
  const hours = Math.floor(minutes / 60)
  return hours < 48
    ? say('{h} h {m} min', { h: hours, m: minutes % 60 })
    : say('{n} days', { n: Math.floor(hours / 24) })
}
