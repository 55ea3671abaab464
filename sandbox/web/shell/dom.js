import { translate } from './translate.js'

/**
 * Makes an element. Text is always text: nothing that arrived is ever read as HTML here. Words of ours are put into the reader's language.
 * `props`: attributes; `class`, `on…` handlers (functions) and booleans as one expects.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, SPOKEN.has(name) ? translate(value) : value)
  }
  element.append(...children.filter(child => child !== null && child !== undefined).map(translate))
  return element
}

/** Attributes that a reader reads or hears. */
const SPOKEN = new Set(['title', 'aria-label'])

export const byId = id => document.getElementById(id)

export function clock(ms, seconds = true) {
  return new Date(ms).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds ? { second: '2-digit' } : {}),
    hour12: false,
  })
}

/** Posts JSON to the sandbox and gives back what it answers; null when it refuses. */
export async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.ok ? response.json() : null
}

/** A button that puts `text` on the clipboard and says so. */
export function copyButton(text) {
  const button = h('button', { type: 'button', class: 'copy' }, 'Copy')
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = translate('Copied')
    setTimeout(() => {
      button.textContent = translate('Copy')
    }, 1500)
  })
  return button
}

/**
 * Tabs by the ARIA pattern: arrow keys move, the chosen panel is shown by `choose(name)`.
 * @param tabs pairs of name and title.
 */
export function tablist(label, tabs, chosen, choose) {
  const list = h('div', { role: 'tablist', class: 'tabs', 'aria-label': label })
  const select = (name, focus) => {
    for (const tab of list.children) {
      const on = tab.dataset.name === name
      tab.setAttribute('aria-selected', String(on))
      tab.tabIndex = on ? 0 : -1
      if (on && focus) tab.focus()
    }
    choose(name)
  }
  for (const [name, title] of tabs)
    list.append(
      h('button', { type: 'button', role: 'tab', 'data-name': name, onclick: () => select(name) }, title),
    )
  list.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    const at = tabs.findIndex(([name]) => name === document.activeElement.dataset.name)
    select(tabs[(at + step + tabs.length) % tabs.length][0], true)
  })
  select(chosen)
  return list
}
