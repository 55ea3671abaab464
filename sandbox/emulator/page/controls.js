import { h } from './dom.js'

/** A labelled list to choose from. @param options pairs of value and title. @param change gets the chosen value. */
export function selectField(title, value, options, change) {
  const select = h(
    'select',
    {},
    ...options.map(([name, text]) => h('option', { value: name, selected: name === value }, text)),
  )
  select.addEventListener('change', () => change(select.value))
  return h('label', { class: 'choice' }, h('span', {}, title), select)
}
