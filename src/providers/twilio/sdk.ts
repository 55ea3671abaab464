import { arch, platform } from 'node:os'
import type { Client, RequestOpts } from 'twilio/lib/base/BaseTwilio.js'
import domains from 'twilio/lib/base/Domain.js'
import versions from 'twilio/lib/base/Version.js'
import { MessageListInstance } from 'twilio/lib/rest/api/v2010/account/message.js'
import sdk from 'twilio/package.json' with { type: 'json' }
import type { SdkClient, SdkRequest } from './http-client.ts'

/** The parts of Twilio's SDK that are used. */
export interface TwilioSdk {
  readonly messages: MessageListInstance
  /** The parent of a resource that is loaded by itself. */
  readonly version: Parameters<typeof MessageListInstance>[0]
}

/**
 * Puts the parts of Twilio's SDK together that SMS need, as its own client does. That client loads axios and every product
 * of Twilio's, 37 MB and 150 ms, for an HTTP client that is not used. The modules are not documented as an interface: the
 * SDK's version is pinned, and a test compares this with its own client.
 *
 * @param options.user an account or an API key, and its secret
 */
export function createSdk(options: {
  readonly accountSid: string
  readonly user: string
  readonly secret: string
  readonly apiUrl: string
  readonly httpClient: SdkClient['httpClient']
}): TwilioSdk {
  const { accountSid, user, secret, apiUrl, httpClient } = options
  // This is what BaseTwilio does, without its edges and regions, which it takes from the environment.
  const request = ({ headers = {}, ...request }: RequestOpts) => {
    const own = {
      'User-Agent': `twilio-node/${sdk.version} (${platform()} ${arch()}) node/${process.version}`,
      'Accept-Charset': 'utf-8',
    }
    const login = { username: user, password: secret }
    return httpClient.request({ ...request, ...login, headers: { ...headers, ...own } } as SdkRequest)
  }
  const domain = new domains.default({ request } as unknown as Client, apiUrl)
  const version = new versions.default(domain, '2010-04-01') as TwilioSdk['version']
  return { messages: MessageListInstance(version, accountSid), version }
}
