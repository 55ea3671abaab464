// Keeps the page current: asks for it again and puts the new content in place of the old. Without this it is the same
// page, as of when it was loaded.
;(() => {
  const every = Number(document.documentElement.dataset.live ?? 0)
  if (!every) return
  const refresh = async () => {
    if (document.hidden || document.querySelector('main :focus:not(body)') || getSelection()?.toString())
      return
    try {
      const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' })
      if (!response.ok) return
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
      for (const id of ['content', 'clock']) {
        const [old, next] = [document.getElementById(id), fresh.getElementById(id)]
        if (old && next) old.replaceChildren(...next.childNodes)
      }
    } catch {
      document.getElementById('clock')?.replaceChildren('no answer; trying again')
    }
  }
  setInterval(refresh, every)
})()
