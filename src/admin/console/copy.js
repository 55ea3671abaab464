// Puts a text on the clipboard. Without this the text can be selected with one click, and the button is not there.
document.addEventListener('click', async event => {
  const button = event.target.closest('.copyable button')
  if (!button) return
  const text = button.parentElement.querySelector('code')
  try {
    await navigator.clipboard.writeText(text.textContent)
  } catch {
    // There is no clipboard on a page that came by plain HTTP from another machine: the old way works there.
    getSelection().selectAllChildren(text)
    if (!document.execCommand('copy')) return
  }
  const name = button.textContent
  button.textContent = button.dataset.copied
  setTimeout(() => button.replaceChildren(name), 1500)
})
for (const button of document.querySelectorAll('.copyable button')) button.hidden = false
