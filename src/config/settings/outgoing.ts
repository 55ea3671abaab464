import { type Group, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readProxyUrl } from '../../settings/urls.ts'

const settings = {
  TLS_CA_FILE: textSetting({
    meaning:
      'PEM file of certificate authorities of your own, trusted beside the public ones wherever this service connects to: mail server, carriers, Postgres, the platform.',
    example: '/certs/company-ca.pem',
  }),
  HTTPS_PROXY: settingWithReader(readProxyUrl, {
    secret: true,
    meaning:
      'Proxy for the requests to SMS carriers, to SMTP_OAUTH2_TOKEN_URL and to EVENTS_URL. Mail servers, Postgres and the platform are reached directly.',
    example: 'http://proxy.example.com:3128',
  }),
  NO_PROXY: textSetting({
    meaning: 'Hosts that are reached without HTTPS_PROXY: names, *.example.com, * for all, parted by commas.',
    example: 'localhost,127.0.0.1,.example.com',
  }),
} as const

export const outgoing: Group<typeof settings> = {
  title: 'Connections to others',
  about: 'Needed only behind a proxy, or where servers have certificates of an authority of your own.',
  settings,
}
