const isChinese = /^zh\b/i.test(navigator.language)
const words = isChinese ? await (await fetch('/words.json')).json() : {}
const patterns = Object.keys(words)
  .filter(key => key.includes('{'))
  .map(key => ({
    pattern: new RegExp(`^${key.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '(.+?)')}$`, 's'),
    chinese: words[key],
    names: key.match(/\{\w+\}/g),
  }))

/** A text of ours in the reader's language; every other one as it is. */
export function translate(text) {
  if (!isChinese || typeof text !== 'string' || !/[a-z]/i.test(text)) return text
  if (Object.hasOwn(words, text)) return words[text]
  for (const { pattern, chinese, names } of patterns) {
    const found = pattern.exec(text)
    if (found !== null)
      return chinese.replace(/\{\w+\}/g, name => translate(found[names.indexOf(name) + 1] ?? name))
  }
  return text
}

/** Puts what stands in the file of a page into the reader's language. */
export function translatePage() {
  if (!isChinese) return
  document.documentElement.lang = 'zh-CN'
  document.title = translate(document.title)
  for (const element of document.querySelectorAll('[aria-label], [title]'))
    for (const name of ['aria-label', 'title'])
      if (element.hasAttribute(name)) element.setAttribute(name, translate(element.getAttribute(name)))
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data } = texts.currentNode
    texts.currentNode.data = data.replace(data.trim(), translate(data.trim()))
  }
}
