/** HTTPS: the certificate, what is wrong with it, and its renewal while the service runs. */
export {
  type Certificate,
  type CertificateFiles,
  CertificateUnusable,
  loadCertificate,
  parseCertificate,
} from './tls/certificate.ts'
export type { Chain } from './tls/chain.ts'
export { tlsServerOptions } from './tls/options.ts'
export {
  type CertificateWatch,
  type CertificateWatchOptions,
  type RefusedRenewal,
  watchCertificate,
} from './tls/watch.ts'
