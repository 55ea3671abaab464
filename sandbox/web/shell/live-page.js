import { byId, post } from './dom.js'
import { translate, translatePage } from './translate.js'

/**
 * Runs the frame that both pages have: `show` gets the server's state at the start and after each change, `#link` says
 * whether the server is there, and `#clear` clears what it remembers.
 * @param ended the words of `#link` when the server is gone.
 */
export function startPage(show, ended) {
  translatePage()
  let stale = false
  let fetching = false

  /** A change that is reported during a fetch may be missing from its answer, so another fetch follows. */
  async function refresh() {
    stale = true
    if (fetching) return
    fetching = true
    try {
      while (stale) {
        stale = false
        const response = await fetch('/state')
        show(await response.json())
      }
    } finally {
      fetching = false
    }
  }

  function showConnection(open) {
    byId('link').textContent = translate(open ? 'Live' : ended)
    byId('link').classList.toggle('on', open)
  }

  byId('clear').addEventListener('click', () => post('/clear', {}))
  const events = new EventSource('/events')
  events.addEventListener('open', () => showConnection(true))
  events.addEventListener('error', () => showConnection(false))
  events.addEventListener('message', refresh)
}

/** Points the link of this id at a page, or hides it when there is none (null). */
export function showLink(id, url) {
  const link = byId(id)
  link.hidden = url === null
  if (url !== null) link.href = url
}
