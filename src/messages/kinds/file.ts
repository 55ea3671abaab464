import type { CallbackKind } from '../kind.ts'

/** E-mail type 7: a link to a file. Nothing is ever fetched. */
export const file: CallbackKind = {
  name: 'file',
  channel: 'email',
  type: 7,
  purpose: 'file',
  required: ['download_url'],
  optional: [],
  linkParam: 'download_url',
  sample: {
    subject: 'Your export is ready',
    params: { download_url: 'https://files.example.com/exports/devices-2026-11.xlsx?expires=1795219200' },
  },
}
