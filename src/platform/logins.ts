import { isObject } from '../runtime/json-object.ts'
import { unreadableFailure } from './answer.ts'
import { type Int, intOf } from './exact-json.ts'
import type { PlatformResult } from './result.ts'

/** POST /v2/corp-auth: an enterprise member. */
export interface CorpAccount {
  readonly account: string
  readonly password: string
}

/** POST /v2/user_auth: an end user, by phone or by e-mail, exactly one of them. */
export type UserAccount = {
  readonly corpId: string
  /** Phone area code; the contract requires it with an e-mail address, too. */
  readonly phoneZone: string
  readonly password: string
  /** Login source. */
  readonly resource?: string
} & (
  | { readonly phone: string; readonly email?: undefined }
  | { readonly email: string; readonly phone?: undefined }
)

/** POST /v2/plugin/app_auth: an application, for DDQ. */
export interface AppAccount {
  readonly appId: string
  readonly appSecret: string
}

/** The result of every login. */
export interface GrantedToken {
  readonly accessToken: string
  readonly refreshToken: string
  /** Validity as the platform states it, in a unit that it does not name (credential.ts reads it); null: none. */
  readonly expireIn: number | null
}

export interface CorpLogin extends GrantedToken {
  readonly corpId: string
  readonly memberId: string
  readonly roleType: Int | null
}

export interface UserLogin extends GrantedToken {
  readonly userId: Int
}

/** The body of a user's login. @throws TypeError unless exactly one of phone and e-mail is given. */
export function userAuthBody(account: UserAccount): object {
  const { corpId, phone, email, phoneZone, password, resource } = account
  if ((phone === undefined) === (email === undefined)) {
    throw new TypeError('a user logs in by phone or by email: give exactly one of them')
  }
  return {
    corp_id: corpId,
    phone_zone: phoneZone,
    password,
    phone,
    email,
    resource,
  }
}

export function readCorpLogin(value: unknown, httpStatus: number): PlatformResult<CorpLogin> {
  return readLogin(value, httpStatus, (body, granted) => {
    const [corpId, memberId] = [textOf(body['corp_id']), textOf(body['member_id'])]
    if (corpId === undefined) return 'corp_id'
    if (memberId === undefined) return 'member_id'
    return { ...granted, corpId, memberId, roleType: intOf(body['role_type']) ?? null }
  })
}

export function readUserLogin(value: unknown, httpStatus: number): PlatformResult<UserLogin> {
  return readLogin(value, httpStatus, (body, granted) => {
    const userId = intOf(body['user_id'])
    return userId === undefined ? 'user_id' : { ...granted, userId }
  })
}

export function readAppLogin(value: unknown, httpStatus: number): PlatformResult<GrantedToken> {
  return readLogin(value, httpStatus, (_body, granted) => granted)
}

/** Reads the answer to a login. Only fields that are used are required: a login without refresh_token is a login all the same. */
function readLogin<T>(
  value: unknown,
  httpStatus: number,
  more: (body: Readonly<Record<string, unknown>>, granted: GrantedToken) => T | string,
): PlatformResult<T> {
  if (!isObject(value)) return unreadableFailure(httpStatus, 'not a JSON object')
  const accessToken = textOf(value['access_token'])
  if (accessToken === undefined) return unreadableFailure(httpStatus, 'a login without access_token')
  const expireIn = intOf(value['expire_in'])
  const granted: GrantedToken = {
    accessToken,
    refreshToken: textOf(value['refresh_token']) ?? '',
    expireIn: expireIn === undefined ? null : Number(expireIn),
  }
  const login = more(value, granted)
  return typeof login === 'string'
    ? unreadableFailure(httpStatus, `a login without ${login}`)
    : { ok: true, value: login }
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
