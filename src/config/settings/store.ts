import { readSecrets } from '../../settings/readers.ts'
import { type Group, integerSetting, settingWithReader, textSetting } from '../../settings/setting.ts'
import { readDatabase } from '../../settings/urls.ts'

const settings = {
  DATABASE_URL: settingWithReader(readDatabase, {
    default: 'file:data/outbox.db',
    secret: true,
    meaning:
      'Where messages are kept until they are delivered. A file for one instance; postgres://… for several that share it. In the image: file:/data/outbox.db.',
    example: 'postgres://courier:password@db.example.com:5432/courier',
  }),
  STORE_SECRET: textSetting({
    minLength: 22,
    form: 'at least 22 characters',
    secret: true,
    meaning:
      'Encrypts codes, links and recipients in the store. Left out with a file: made at the first start, kept beside it. Needed with postgres, the same for every instance.',
    example: 'a-long-random-secret-of-your-own',
  }),
  STORE_SECRET_PREVIOUS: settingWithReader(readSecrets, {
    secret: true,
    meaning:
      'Secrets that messages may have been stored with before, parted by spaces: they are read with these, and written with STORE_SECRET. Only until those messages are sent.',
    example: 'the-secret-that-was-before-this-one',
  }),
  MAX_BACKLOG: integerSetting({
    minimum: 100,
    maximum: 100_000_000,
    default: 1_000_000,
    meaning: 'Most messages that may wait. Beyond it callbacks are answered 503, "try again later".',
    example: '1000000',
  }),
  RETENTION_DAYS: integerSetting({
    minimum: 1,
    maximum: 3650,
    default: 30,
    meaning:
      'How long the facts of a delivered message are kept (time, kind, masked recipient, state). Its content is gone at once.',
    example: '30',
  }),
} as const

/** The settings of the store, where messages wait. */
export const store: Group<typeof settings> = {
  title: 'The store',
  about: 'About 1 KB per waiting message.',
  settings,
}
