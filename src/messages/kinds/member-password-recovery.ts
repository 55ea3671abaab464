import type { CallbackKind } from '../kind.ts'

/** E-mail type 9: the link that lets a member of the enterprise recover the password. */
export const memberPasswordRecovery: CallbackKind = {
  name: 'member-password-recovery',
  channel: 'email',
  type: 9,
  purpose: 'link',
  required: ['url'],
  optional: ['username', 'email', 'verifycode', 'time', 'hour'],
  linkParam: 'url',
  sample: {
    subject: 'Recover your member password',
    params: {
      url: 'https://console.example.com/#!recover/aGVsbG8rd29ybGQ=',
      username: 'Lin Wei',
      email: 'lin.wei@example.com',
      verifycode: 'MTIzNDU2Nzg5MA==',
      time: '2026-11-20 14:32:05',
      hour: '24',
    },
  },
}
