import type { CheckResult } from '../../runtime/check-result.ts'
import { type Approval, checkApprovals, type InUse, type Listed } from '../check-approvals.ts'
import { outcomeWithoutAnswer } from '../http-exchange.ts'
import { type JsonObject, objectsOf, textOf } from '../json-answer.ts'
import { type AliyunApi, type AliyunApiSettings, createAliyunApi } from './api.ts'

const PAGE = 50
/** More than an account may have of either. */
const MOST_PAGES = 20

/** Asks Aliyun whether the signatures and templates in use are approved. */
export async function checkAliyunApprovals(
  settings: AliyunApiSettings,
  inUse: InUse,
): Promise<readonly CheckResult[]> {
  const api = createAliyunApi(settings, 2)
  const [signatures, templates] = await Promise.all([
    listAll(api, 'QuerySmsSignList', 'SmsSignList', item => ({
      name: textOf(item['SignName']),
      approval: approvalOf(item),
      codesOnly: textOf(item['BusinessType']).includes('验证码'),
    })),
    listAll(api, 'QuerySmsTemplateList', 'SmsTemplateList', item => ({
      id: textOf(item['TemplateCode']),
      approval: approvalOf(item),
      region: isInternational(item) ? ('abroad' as const) : ('mainland' as const),
      variables: [...textOf(item['TemplateContent']).matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name),
    })),
  ]).finally(() => api.close())
  return checkApprovals(inUse, signatures, templates)
}

/** Aliyun numbers the kinds of templates in two ways, and says one or both. */
function isInternational(item: JsonObject): boolean {
  return textOf(item['TemplateType']) === '6' || textOf(item['OuterTemplateType']) === '3'
}

/** Aliyun writes AUDIT_SATE_CANCEL of templates. */
function approvalOf(item: JsonObject): Approval {
  const state = textOf(item['AuditStatus'])
  if (state === 'AUDIT_STATE_PASS') return 'approved'
  if (state === 'AUDIT_STATE_INIT') return 'in-review'
  return state.endsWith('_CANCEL') ? 'cancelled' : 'refused'
}

async function listAll<T>(
  api: AliyunApi,
  action: string,
  list: string,
  read: (item: JsonObject) => T,
): Promise<Listed<T>> {
  const items: T[] = []
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const query = { PageIndex: String(page), PageSize: String(PAGE) }
    const result = await api.call(action, query)
    if (!('value' in result)) return { cannotKnow: outcomeWithoutAnswer(result, 'Aliyun').reply }
    const { status, body } = result.value
    const code = textOf(body?.['Code'])
    if (code !== 'OK') return { cannotKnow: `it answers ${code || `HTTP ${status}`} to ${action}` }
    items.push(...objectsOf(body?.[list]).map(read))
    if (page * PAGE >= Number(textOf(body?.['TotalCount']))) break
  }
  return { items }
}
