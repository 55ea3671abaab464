import { type CheckResult, checkOk } from '../../runtime/check-result.ts'
import {
  type Approval,
  checkApprovals,
  type InUse,
  type Listed,
  type ListedTemplate,
} from '../check-approvals.ts'
import { outcomeWithoutAnswer } from '../http-exchange.ts'
import { type JsonObject, objectsOf, textOf } from '../json-answer.ts'
import { createTencentApi, type TencentApi, type TencentApiSettings } from './api.ts'
import { errorOf } from './outcome.ts'

/** Half of what Tencent allows: the texts of a hundred templates may be longer than an answer that is read. */
const PAGE = 50
/** More than an account may have of either. */
const MOST_PAGES = 20

/** Asks Tencent whether the signatures and templates in use are approved and filed. */
export async function checkTencentApprovals(
  settings: TencentApiSettings,
  inUse: InUse,
): Promise<readonly CheckResult[]> {
  const api = createTencentApi(settings, 2)
  const [signatures, templates] = await Promise.all([
    listAll(api, 'DescribeSmsSignList', 'DescribeSignListStatusSet', item => ({
      name: textOf(item['SignName']),
      approval: approvalOf(item),
    })),
    listAll(api, 'DescribeSmsTemplateList', 'DescribeTemplateStatusSet', item => ({
      id: textOf(item['TemplateId']),
      approval: approvalOf(item),
      region: REGIONS[textOf(item['International'])] ?? 'mainland',
      variables: [...textOf(item['TemplateContent']).matchAll(/\{(\d+)\}/g)].map(([, number = '']) => number),
    })),
  ]).finally(() => api.close())
  return [...checkApprovals(inUse, signatures, templates), DAILY_LIMIT]
}

const REGIONS: Readonly<Record<string, ListedTemplate['region']>> = {
  '0': 'mainland',
  '1': 'abroad',
  '3': 'both',
}

/** No operation tells what the operator has set. */
const DAILY_LIMIT = checkOk(
  'tencent limits',
  'cannot know them: unless you raised it, a number gets 2 SMS a day and the same text once in 30 s',
  "raise the frequency limits in Tencent's console, or a third code of one day is refused",
)

/** -1 also means that the signature is not filed with the phone networks. */
function approvalOf(item: JsonObject): Approval {
  const states: Readonly<Record<string, Approval>> = {
    '0': 'approved',
    '1': 'in-review',
    '2': 'not-in-force',
  }
  return states[textOf(item['StatusCode'])] ?? 'refused'
}

/** Lists the signatures or templates of the mainland and those for abroad. */
async function listAll<T>(
  api: TencentApi,
  action: string,
  list: string,
  read: (item: JsonObject) => T,
): Promise<Listed<T>> {
  const items: T[] = []
  for (const International of [0, 1]) {
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const request = { International, Limit: PAGE, Offset: page * PAGE }
      const result = await api.call(action, request)
      if (!('value' in result)) return { cannotKnow: outcomeWithoutAnswer(result, 'Tencent').reply }
      const { status, body } = result.value
      if (body === null) return { cannotKnow: `it answers HTTP ${status} to ${action}` }
      const error = errorOf(result.value)
      if (error !== null) return { cannotKnow: `it answers ${error.code} to ${action}` }
      const found = objectsOf(body[list])
      items.push(...found.map(read))
      if (found.length < PAGE) break
    }
  }
  return { items }
}
