import type { Content } from '../messages/message.ts'

/** Makes a value of a content, or takes the one that was made of it, with the same words, a moment ago. */
export type RenderCache<T> = (content: Content, words: object, key: string, make: () => T) => T

/**
 * Parts that the recipients of one callback have in common are made once, and those that one country has in common once for
 * each: they share one content, and are rendered one after the other without a pause. The latest content alone is kept,
 * and only for as long as that takes, since it may hold a code or a link.
 */
export function createRenderCache<T>(): RenderCache<T> {
  let latest: { readonly content: Content; readonly words: object; readonly made: Map<string, T> } | undefined
  const forget = () => {
    latest = undefined
  }
  return (content, words, key, make) => {
    if (latest?.content !== content || latest.words !== words) {
      latest = { content, words, made: new Map() }
      queueMicrotask(forget)
    }
    const { made } = latest
    let value = made.get(key)
    if (value === undefined) {
      value = make()
      made.set(key, value)
    }
    return value
  }
}
