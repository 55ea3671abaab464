/**
 * Makes the function that names leases: by their owner and a number, so that no two leases ever have the same token.
 *
 * @param owner names the process that claims, unlike any other process ever; asked for each token, since a replica
 *   takes another name after it was out of touch.
 */
export function createLeaseTokens(owner: () => string): () => string {
  let count = 0
  return () => {
    count += 1
    return `${owner()}.${count.toString(36)}`
  }
}
