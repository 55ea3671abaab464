// Keeps the page current: asks for it again and puts what has changed in place of the old. Without this it is the same
// page, as of when it was loaded.
;(() => {
  const every = Number(document.documentElement.dataset.live ?? 0)
  if (!every) return

  // What is wrong is read out when it changes, not with every second that it lasts.
  const tell = fresh => {
    const [old, next] = [document.querySelector('[data-causes]'), fresh.querySelector('[data-causes]')]
    if (!next || old?.dataset.causes === next.dataset.causes) return
    document.getElementById('news')?.replaceChildren(next.innerText || next.textContent)
  }

  const replace = (old, next) => {
    const [had, has] = [[...old.children], [...next.children]]
    if (had.length !== has.length) return old.replaceChildren(...next.childNodes)
    had.forEach((child, at) => {
      if (!child.isEqualNode(has[at])) child.replaceWith(has[at])
    })
  }

  const refresh = async () => {
    if (document.hidden || document.querySelector('main :focus') || getSelection()?.toString()) return
    const clock = document.getElementById('clock')
    try {
      const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' })
      if (!response.ok) throw new Error(String(response.status))
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
      showLocalTimes(fresh.body)
      tell(fresh)
      replace(document.getElementById('content'), fresh.getElementById('content'))
      clock?.replaceChildren(...(fresh.getElementById('clock')?.childNodes ?? []))
    } catch {
      clock?.replaceChildren(clock.dataset.lost)
    }
  }
  setInterval(refresh, every)
})()
