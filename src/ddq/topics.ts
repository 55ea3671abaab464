/** The subject of a topic; `unknown` for one that the contract does not have. */
export type TopicKind = 'online-state' | 'attributes' | 'event' | 'alert' | 'unknown'
export type KnownTopic = Exclude<TopicKind, 'unknown'>

/** The contract's topics. Some begin with a slash there and some do not; they are written as they are printed. */
const TOPICS: Readonly<Record<KnownTopic, string>> = {
  'online-state': '/device-biz/state/product',
  attributes: 'thing/event/{product_id}/device_attribute_sync_event',
  event: 'thing/event/{product_id}/event_report',
  alert: '/device/alert/product/{product_id}',
}

const PATTERNS = (Object.entries(TOPICS) as [KnownTopic, string][]).map(
  ([kind, topic]) =>
    [kind, new RegExp(`^/?${topic.replace(/^\//, '').replace('{product_id}', '([^/]+)')}$`)] as const,
)

/** Topics are few and short; the same text comes with every message. */
const MOST_REMEMBERED = 1000
const LONGEST_REMEMBERED = 256
const remembered = new Map<string, { readonly kind: TopicKind; readonly product: string | null }>()

/** The subject of a received topic, and its product when it names one. A leading slash makes no difference. */
export function parseTopic(topic: string): { readonly kind: TopicKind; readonly product: string | null } {
  const known = remembered.get(topic)
  if (known !== undefined) return known
  let found: { readonly kind: TopicKind; readonly product: string | null } = {
    kind: 'unknown',
    product: null,
  }
  for (const [kind, pattern] of PATTERNS) {
    const match = pattern.exec(topic)
    if (match !== null) found = { kind, product: match[1] ?? null }
  }
  if (topic.length <= LONGEST_REMEMBERED && remembered.size < MOST_REMEMBERED) remembered.set(topic, found)
  return found
}

/**
 * The topic to subscribe to.
 * @param product a product's identifier, or what stands for any product.
 */
export function topicFor(kind: KnownTopic, product: string): string {
  return TOPICS[kind].replace('{product_id}', product)
}
