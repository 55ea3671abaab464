import { createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { listen } from './listen.ts'

/** What a server does instead of the usual, by a command's name; GREETING comes first. */
export type Act = (verb: string, tag: string, line: string) => string | undefined

const CAPABILITY = 'CAPABILITY IMAP4rev1 SASL-IR AUTH=XOAUTH2 AUTH=PLAIN MOVE UIDPLUS IDLE'

/** The uids of a set such as `3,5:9,12:*`. */
function isIn(set: string, uid: number): boolean {
  return set.split(',').some(range => {
    const [from = 0, to = from] = range.split(':').map(each => (each === '*' ? Infinity : Number(each)))
    return uid >= from && uid <= to
  })
}

/** What a mail has of a section; every mail has one part. */
function sectionOf(mail: string, section: string): string {
  const [head = ''] = mail.split('\r\n\r\n', 1)
  if (section === '') return mail
  if (section === 'HEADER') return `${head}\r\n\r\n`
  return `${head
    .split('\r\n')
    .filter(line => /^content-type:/i.test(line))
    .join('\r\n')}\r\n\r\n`
}

/** Starts a mail server with one mailbox, INBOX. Like servers without RFC 5530 it does not say that a folder is there already. */
export async function startImap(t: Test, usual: Iterable<readonly [number, string]> = [], act?: Act) {
  const mails = new Map(usual)
  const moved: number[] = []
  const commands: string[] = []
  const sockets = new Set<Socket>()
  let validity = 7

  function answer(verb: string, line: string): string {
    const uids = [...mails.keys()]
    const [, set = ''] = /^\w+ UID \w+ (\S+)/.exec(line) ?? []
    switch (verb) {
      case 'CAPABILITY':
        return `* ${CAPABILITY}\r\n`
      case 'LIST':
        return '* LIST () "/" INBOX\r\n'
      case 'SELECT':
        return `* FLAGS (\\Seen)\r\n* ${uids.length} EXISTS\r\n* OK [UIDVALIDITY ${validity}] x\r\n* OK [UIDNEXT ${Math.max(0, ...uids.slice(-1)) + 1}] x\r\n`
      case 'SEARCH': {
        const range = /UID (\d+:\*)$/.exec(line)?.[1] ?? '1:*'
        // The set of UIDs n:* holds the last mail, even when n is above it.
        return `* SEARCH ${uids.filter((uid, at) => isIn(range, uid) || at === uids.length - 1).join(' ')}\r\n`
      }
      case 'FETCH': {
        const [, section = '', most = ''] = /BODY\.PEEK\[(.*?)\](?:<0\.(\d+)>)?/.exec(line) ?? []
        const texts = uids.flatMap((uid, at) => {
          if (!isIn(set, uid)) return []
          const text = sectionOf(mails.get(uid) ?? '', section).slice(
            0,
            most === '' ? undefined : Number(most),
          )
          const origin = most === '' ? '' : '<0>'
          return `* ${at + 1} FETCH (UID ${uid} BODY[${section}]${origin} {${text.length}}\r\n${text})\r\n`
        })
        return texts.join('')
      }
      case 'MOVE':
        mails.delete(Number(set))
        moved.push(Number(set))
        return ''
      default:
        return ''
    }
  }

  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.write(act?.('GREETING', '', '') ?? `* OK [${CAPABILITY}] hello\r\n`)
    let rest = ''
    let idle = ''
    socket.on('data', chunk => {
      const lines = `${rest}${String(chunk)}`.split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        commands.push(line)
        const [tag = '', ...words] = line.split(' ')
        const verb = (words[0] === 'UID' ? words[1] : words[0])?.toUpperCase() ?? ''
        const said = act?.(verb, tag, line)
        if (said !== undefined) socket.write(said)
        else if (verb === 'IDLE') {
          idle = tag
          socket.write('+ idling\r\n')
        } else if (verb === 'CREATE') socket.write(`${tag} NO Mailbox already exists\r\n`)
        else socket.write(`${answer(verb, line)}${tag === 'DONE' ? idle : tag} OK done\r\n`)
      }
    })
  })
  const port = await listen(t, server)
  /** Ends all connections. */
  function hangUp(): void {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    mails,
    /** What was moved away. */
    moved,
    commands,
    /** How often a command was said, by its name and what stands behind it. */
    count: (what: RegExp): number => commands.filter(line => what.test(line)).length,
    connections: () => sockets.size,
    hangUp,
    /** Tells whoever is connected. */
    say(text: string): void {
      for (const socket of sockets) socket.write(text)
    },
    /** The mailbox is made anew, with these mails in it. */
    renew(given: Iterable<readonly [number, string]>): void {
      hangUp()
      validity += 1
      mails.clear()
      for (const [uid, mail] of given) mails.set(uid, mail)
    },
  }
}
