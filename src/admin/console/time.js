// Puts every moment of a page, which it says in UTC, into the reader's zone; the pointer over it shows UTC. Without this the page says UTC.
;(() => {
  const MOMENT = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/
  const two = number => String(number).padStart(2, '0')
  const day = at => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  const clock = at => `${two(at.getHours())}:${two(at.getMinutes())}`

  const timeElement = (utc, at, text) => {
    const element = document.createElement('time')
    element.dateTime = at.toISOString()
    element.title = utc
    element.append(text)
    return element
  }

  globalThis.showLocalTimes = root => {
    for (const element of root.querySelectorAll('.axis time')) {
      const at = new Date(element.dateTime)
      element.title = element.textContent
      element.textContent = clock(at)
    }
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    const found = []
    while (texts.nextNode()) if (MOMENT.test(texts.currentNode.data)) found.push(texts.currentNode)
    for (let text of found)
      for (let match = MOMENT.exec(text.data); match !== null; match = MOMENT.exec(text.data)) {
        const at = new Date(`${match[1]}T${match[2]}Z`)
        const rest = text.splitText(match.index)
        text = rest.splitText(match[0].length)
        rest.replaceWith(timeElement(match[0], at, `${day(at)} ${clock(at)}:${two(at.getSeconds())}`))
      }
    // Days that are typed or chosen are those of the reader's zone.
    for (const field of root.querySelectorAll('input[name=zone]'))
      field.value = String(new Date().getTimezoneOffset())
  }
  showLocalTimes(document.body)
})()
