const MOST_KEYS = 12
const MOST_DEPTH = 3

/**
 * The form of a value without what is in it, for logs: `{topic: string, payload: {device: {id: null}}}`. Keys that are
 * no plain names are not repeated, since they may be data, too.
 */
export function describeShape(value: unknown, depth = 0): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return depth >= MOST_DEPTH
      ? '[…]'
      : `[${describeShape(value[0], depth + 1)}${value.length > 1 ? ', …' : ''}]`
  }
  if (typeof value !== 'object') return typeof value
  if (depth >= MOST_DEPTH) return '{…}'
  const keys = Object.keys(value)
  const members = keys
    .slice(0, MOST_KEYS)
    .map(
      key =>
        `${/^[A-Za-z_]\w{0,31}$/.test(key) ? key : '?'}: ${describeShape(Reflect.get(value, key), depth + 1)}`,
    )
  return `{${members.join(', ')}${keys.length > MOST_KEYS ? ', …' : ''}}`
}
