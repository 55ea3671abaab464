/** Says whether an address can be reached from this machine only. @param host a name or an address, IPv6 without brackets */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}
