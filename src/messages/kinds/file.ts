import type { Kind } from '../kind.ts'

/** E-mail type 7: a link to a file. Nothing is ever fetched. */
export const file: Kind = {
  name: 'file',
  channel: 'email',
  type: 7,
  purpose: 'file',
  needed: ['download_url'],
  also: [],
  link: 'download_url',
  life: 'hour',
  sample: {
    subject: 'Your export is ready',
    params: { download_url: 'https://files.example.com/exports/devices-2026-11.xlsx?expires=1795219200' },
  },
}
