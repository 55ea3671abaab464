/**
 * Chinese as an operator in mainland China reads it. The keys are the English sentences, which stand in the code; `{name}`
 * stands for a value. A sentence that is said and stands not here is a fault of types, one that stands here and is said by
 * nobody fails a test.
 */
export const zhCN = {
  // The frame of every page
  'To the content': '跳到正文',
  Console: '控制台',
  'no answer; trying again': '没有应答，正在重试',
  Overview: '总览',
  Messages: '消息',
  Words: '文案',
  'Test send': '测试发送',
  URLs: '回调 URL',
  'Not here': '这里没有',
  Back: '返回',
  'There is no such page.': '没有这个页面。',
  'The store does not answer': '存储没有应答',
  'Look at its disk (space, permissions) or at the database, then at the log. This page works again when the store does.':
    '请检查磁盘（空间、权限）或数据库，再看日志。存储恢复后，本页面随之恢复。',
  'That cannot be read': '无法识别',
  'The form was not one of this page’s.': '提交的不是本页面的表单。',
  'An unexpected fault': '意外故障',
  'The log says more.': '详情见日志。',

  // Lengths of time
  '{n} ms': '{n} 毫秒',
  '{n} s': '{n} 秒',
  '{m} min {s} s': '{m} 分 {s} 秒',
  '{h} h {m} min': '{h} 小时 {m} 分',
  '{n} days': '{n} 天',
  'for {time}': '已持续 {time}',
  'in {time}': '{time}后',
  'after {time}': '用时 {time}',
  '{time} so far': '至今 {time}',
  now: '现在',
  'when its turn comes': '轮到它时',
  'when {provider} takes messages again': '{provider} 恢复接收时',

  // What is wrong
  Condition: '当前状况',
  'Failing:': '故障：',
  'Look:': '注意：',
  'Events waiting': '待通知事件',
  'another replica tells them': '由另一个实例通知',
  'Other machines are told nothing more: EVENTS_URL answered 410. Start this service again when it takes events.':
    '不再通知其他系统：EVENTS_URL 返回了 410。对方重新接收后，请重启本服务。',
  'EVENTS_URL has taken nothing for {time} ({reason}). Events that wait: {n}. Look at the receiver, and at EVENTS_URL and EVENTS_SECRET.':
    'EVENTS_URL 已有 {time}未接收任何事件（{reason}），有 {n} 个事件在等待。请检查接收方以及 EVENTS_URL 和 EVENTS_SECRET。',
  'All is well.': '一切正常。',
  'This process is ending: it finishes what is in flight and takes nothing new soon.':
    '本进程正在退出：正在发送的会发完，很快不再接收新的回调。',
  'Words: {problem}; the last good ones are used.': '文案：{problem}；仍在使用上一个可用的版本。',
  'The store does not answer. Callbacks are answered 503 until it does: look at its disk (space, permissions) or at the database, then at the log.':
    '存储没有应答，恢复之前回调一律应答 503：请检查磁盘（空间、权限）或数据库，再看日志。',
  'The store could not {doing} at {at}: {message}. Callbacks are answered 503 meanwhile.':
    '存储在 {at} 执行 {doing} 失败：{message}。在此期间回调应答 503。',
  'until {until}': '{until} 之前',
  'between {from} and {until}': '{from} 到 {until} 之间',
  'Ends of messages that were written {when} are gone: what had been sent may be sent again.':
    '{when}写入的消息结果已丢失：已经发送的可能会再次发送。',
  '{messages} messages that were stored {when} are gone; at most {unsent} of them had not been sent.':
    '{when}存入的 {messages} 条消息已丢失，其中至多 {unsent} 条尚未发送。',
  'The store’s WAL was damaged or deleted, or an older file was put in its place; the start at {at} found it out. docs/operations.md says what to do (CallbackCourierStoreLoss). This line stays for a day.':
    '存储的 WAL 已损坏或被删除，或者被换成了旧文件；{at} 启动时发现。处理办法见 docs/zh-CN/operations.md（CallbackCourierStoreLoss）。这一行保留一天。',
  '1 mail has waited for {time}.': '1 封邮件在等待，已等待 {time}。',
  '1 SMS has waited for {time}.': '1 条短信在等待，已等待 {time}。',
  '{count} mails wait, the oldest for {time}.': '{count} 封邮件在等待，最早的已等待 {time}。',
  '{count} SMS wait, the oldest for {time}.': '{count} 条短信在等待，最早的已等待 {time}。',
  'The quota {quota} holds mails back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it: .env.example has the setting.':
    '配额 {quota} 拦下了邮件：启动以来 {count} 封，最近一封在 {at}。这些邮件没有发送，相应的回调应答 429。如果属于正常业务，请调高配额：设置见 .env.example。',
  'The quota {quota} holds SMS back: {count} since the start, the last at {at}. They were not sent, and callbacks for them are answered 429. If they are wanted, raise it: .env.example has the setting.':
    '配额 {quota} 拦下了短信：启动以来 {count} 条，最近一条在 {at}。这些短信没有发送，相应的回调应答 429。如果属于正常业务，请调高配额：设置见 .env.example。',
  'The last validation of the {channel} URL failed at {at}: {reason}. Paste URL and Token again (URLs), and validate once more.':
    '平台最近一次验证{channel} URL 失败（{at}）：{reason}。请重新粘贴 URL 和 Token（见“回调 URL”），再验证一次。',
  'The certificate expired on {at}: the platform refuses it. Renew it; it is picked up without a restart.':
    '证书已于 {at} 过期，平台会拒绝它。请更新证书，无需重启即可生效。',
  'The certificate expires in {time}. Renew it; it is picked up without a restart.':
    '证书将在 {time}后过期。请更新证书，无需重启即可生效。',
  'Certificate: {flaw}': '证书：{flaw}',
  'The certificate’s files changed and have been refused for {time}, since {at}: {reason}.':
    '证书文件已改变，但自 {at} 起（已 {time}）一直未被采用：{reason}。',
  'The one before is served on, and is valid until {at}.': '仍在使用之前的证书，有效期至 {at}。',
  'The one before is served on, and has expired.': '仍在使用之前的证书，它已经过期。',
  'Put a certificate and its key into both files: they are taken within half a minute, without a restart.':
    '请在两个文件中放入配套的证书和私钥：半分钟内生效，无需重启。',
  'it does not answer': '没有应答',
  '{provider} has failed for {time}: {what}.': '{provider} 故障已持续 {time}：{what}。',
  'This is ours to mend: look at its settings and account.': '这需要我们处理：请检查它的设置和账号。',
  'Messages wait and are tried until they expire.': '消息在排队，会一直重试到过期为止。',
  'Messages go to another carrier of their route; those without one wait, and are tried until they expire.':
    '消息改由路由中的其他服务商发送；没有其他服务商的在排队，会一直重试到过期为止。',
  'It is tried by one message at a time.': '已熔断，每次只用一条消息试探。',

  'e-mail': '邮件',

  // Device alerts
  'No device alert has come for {time}: {why}. {next}': '已有 {time}没有收到设备告警：{why}。{next}',
  'the platform has not answered yet': '平台尚未应答',
  'The platform refuses the topic {topic} ({why}): no device alert of it comes. Look at the product in ALERTS, and at what the application may subscribe to.':
    '平台拒绝订阅主题 {topic}（{why}）：收不到它的设备告警。请检查 ALERTS 中的产品，以及应用可以订阅哪些主题。',
  subscribed: '已订阅',
  'not subscribed': '未订阅',
  'Device alerts': '设备告警',
  'Another replica watches the devices.': '由另一个实例监视设备。',
  'Last end': '最近一次中断',
  none: '无',
  'Topics refused': '被拒绝的主题',
  'Since the start': '启动以来',
  '{received} messages, {malformed} that cannot be used': '收到 {received} 条，其中 {malformed} 条无法使用',
  '{is}, {why}': '{is}，{why}',
  '{about}: {what}': '{about}：{what}',
  ' ({why})': '（{why}）',
  'This is ours to mend: look at DDQ_APP_ID, DDQ_APP_SECRET and the topics in ALERTS; “check” tries the login.':
    '这需要我们处理：请检查 DDQ_APP_ID、DDQ_APP_SECRET 以及 ALERTS 中的主题；check 命令会试着登录。',
  'It is tried again every 5 s: look at DDQ_HOST, DDQ_PORT and the network.':
    '每 5 秒重试一次：请检查 DDQ_HOST、DDQ_PORT 和网络。',

  // The overview
  'A customer did not get the code? Recipient, in full': '客户没有收到验证码？请输入完整的收件人',
  'name@example.com or +86…': 'name@example.com 或 +86…',
  Find: '查找',
  Providers: '服务商',
  '{provider}: nothing sent yet.': '{provider}：尚未发送过。',
  works: '正常',
  fails: '故障',
  'Last accepted': '最近一次接收',
  'Last error': '最近一次错误',
  '; left alone for {time}': '；已熔断，还剩 {time}',
  '; being tried by one message': '；正在用一条消息试探',
  '; asked second, because its delivery reports are late or bad, or have stopped':
    '；因回执迟到、不佳或不再到来而排在第二',
  ' ({n} of them waiting long for the reply)': '（其中 {n} 条久等应答）',
  '{inFlight} in flight{awaiting}, {waiting} in memory; {limit} at once: {why}':
    '发送中 {inFlight} 条{awaiting}，内存中等待 {waiting} 条；并发上限 {limit}：{why}',
  'The platform': '平台',
  'POST_SIGNATURE is {value}.': 'POST_SIGNATURE 为 {value}。',
  'Last validation': '最近一次验证',
  'none since the start': '启动以来没有',
  right: '通过',
  'Callers refused': '被拒绝的调用',
  'Over quota': '超出配额',
  '{quota}: {count}, the last at {at}': '{quota}：{count} 条，最近一条在 {at}',
  'POSTs signed': 'POST 的签名',
  '{right} right, {wrong} wrong, {absent} unsigned': '正确 {right}，错误 {wrong}，未签名 {absent}',
  'POST_SIGNATURE=required would be safe.': '可以放心设置 POST_SIGNATURE=required。',
  'Previous URL last used': '旧 URL 使用',
  'not since the start': '启动以来没有',
  '{count}, the last at {at}: {reason}': '{count} 次，最近一次在 {at}：{reason}',
  'This service': '本服务',
  Started: '启动时间',
  Waiting: '等待中',
  '{mails} by e-mail, {sms} by SMS': '邮件 {mails} 封，短信 {sms} 条',
  Store: '存储',
  Certificate: '证书',
  'none: TLS ends in front of this service': '无：TLS 由前面的代理负责',
  'no host': '未指明主机名',
  '{names}; until {at}; chain {chain}': '{names}；有效期至 {at}；证书链：{chain}',

  // Figures
  'E-mail': '邮件',
  SMS: '短信',
  'Last hour': '最近一小时',
  'Last day': '最近一天',
  Period: '时段',
  Sent: '已发送',
  Refused: '被拒绝',
  Expired: '已过期',
  Unknown: '结果不明',
  Superseded: '已作废',
  'The store does not answer.': '存储没有应答。',
  'Channel and kind': '通道和类型',
  'highest bar {n}': '最高 {n}',
  sent: '已发送',
  waiting: '等待中',
  expired: '已过期',
  'refused or unknown': '被拒绝或结果不明',
  'being sent': '发送中',
  refused: '被拒绝',
  superseded: '已作废',
  unknown: '结果不明',

  // Lists of messages
  'That is neither a mail address nor a phone number in full (+86…).':
    '这不是完整的邮件地址，也不是完整的手机号码（+86…）。',
  'This list is not filtered by {names}: the address has no value there that is known.':
    '列表没有按 {names} 筛选：网址中的这一项不是已知的值。',
  'No message to this recipient': '没有发给这个收件人的消息',
  'The platform did not ask for one, or the callback was refused. The log has each refusal with its reason: events callback, stray, over-quota.':
    '平台没有要求发送，或者回调被拒绝了。日志中有每次拒绝的原因，见 callback、stray、over-quota 事件。',
  Filter: '筛选',
  Channel: '通道',
  all: '全部',
  State: '状态',
  Kind: '类型',
  'Recipient, in full': '完整的收件人',
  'one recipient chosen': '已选定一个收件人',
  Show: '显示',
  All: '全部显示',
  'Arrived, UTC': '到达时间（UTC）',
  Recipient: '收件人',
  Attempts: '尝试次数',
  'Last reply': '最近的应答',
  Took: '用时',
  Arrived: '到达时间',
  Newest: '最新',
  Older: '更早',
  'No message': '没有消息',
  '1 message': '1 条消息',
  '{n} messages, newest first': '{n} 条消息，最新的在前',

  // A message
  'There is no such message; it may have been pruned.': '没有这条消息，可能已过保留期而被清除。',
  Message: '消息',
  recipient: '收件人',
  content: '内容',
  country: '国家',
  limit: '频率限制',
  'Try now': '立即重试',
  Cancel: '取消发送',
  Id: '编号',
  'Provider’s id': '服务商的编号',
  'Valid until': '有效期至',
  'Next attempt': '下次尝试',
  Ended: '结束时间',
  'Delivery report': '回执',
  ' (error {code})': '（错误码 {code}）',
  '{attempts}, {ambiguous} of them ambiguous': '{attempts} 次，其中 {ambiguous} 次结果不明',
  Timeline: '时间线',
  'When, UTC': '时间（UTC）',
  When: '时间',
  Provider: '服务商',
  Outcome: '结果',
  Code: '代码',
  Reply: '应答',
  'No attempt yet.': '尚未尝试。',

  // What became of a message, and what to do
  'It is being sent at this moment.': '此刻正在发送。',
  'Look again in a few seconds. A mail server may take minutes for its last reply.':
    '请过几秒再看。邮件服务器最后的应答可能要等几分钟。',
  'No provider took it before its life ended at {at}.': '在 {at} 过期之前，没有服务商接收它。',
  'The person has to ask for a new one. The first lines of the overview say whether its provider fails.':
    '请客户重新获取。总览的前几行会说明它的服务商是否有故障。',
  'The person has to ask for a new one. What the reply names may need repair first.':
    '请客户重新获取。可能需要先解决应答中指出的问题。',
  'An operator cancelled it here.': '运维人员在这里取消了它。',
  'The log says who: event “operator”.': '是谁取消的见日志：operator 事件。',
  'A newer code for the same person came before this one left; only the newest counts.':
    '它发出之前，同一个人又有了更新的验证码；只有最新的有效。',
  'It may have arrived. A newer code for the same person came, so it is not sent again; only the newest counts.':
    '可能已经送达。同一个人又有了更新的验证码，所以不会再发；只有最新的有效。',
  'Look at the newer message of the same recipient.': '请看同一收件人更新的那条消息。',
  'It may have arrived: every copy that may go out was written, and no reply came.':
    '可能已经送达：允许发出的每一份都已写出，但没有收到应答。',
  'Ask the provider by the id, or the mail server by the Message-ID, which begins with the id.':
    '请用编号向服务商查询；邮件则在邮件服务器上按 Message-ID 查询，它以编号开头。',
  'It waits for its first attempt, due {due}.': '在等待第一次尝试，时间：{due}。',
  'The first lines of the overview say whether its provider fails, or how many wait before it.':
    '总览的前几行说明服务商是否有故障，以及前面排了多少条。',
  'It has not been taken yet, and is tried again {due}, until {until}.':
    '还没有被接收，下次重试：{due}，最晚到 {until}。',
  '{provider} keeps failing and is left alone for {time}; then one message tries it.':
    '{provider} 一再失败，已熔断，{time}后由一条消息试探。',
  '{provider} keeps failing, and one message is trying it.': '{provider} 一再失败，正由一条消息试探。',
  '{provider}: {why}.': '{provider}：{why}。',
  'Its last reply to another message: {reply}': '它对其他消息最近的应答：{reply}',
  'Repair what the reply names. Nothing else is to be done: “Try now” only makes it sooner.':
    '请解决应答中指出的问题，此外无需操作：“立即重试”只是提前重试。',
  'the provider': '服务商',
  '{by} took it.': '{by} 已接收。',
  '{by} took it {time} after it came, at {at}.': '{by} 于 {at} 接收，距消息到达 {time}。',
  'From here on it is the mail server’s: look in its log for the Message-ID, which begins with the id, then in the junk folder.':
    '之后由邮件服务器负责：请在它的日志中查找 Message-ID（以编号开头），再看垃圾邮件文件夹。',
  'From here on it is the mail server’s: look in its log for the queue id {queueId}, then in the junk folder.':
    '之后由邮件服务器负责：请在它的日志中查找队列编号 {queueId}，再看垃圾邮件文件夹。',
  'There is no delivery report.': '没有回执。',
  '“check” says whether reports come, and why not. Look for the provider’s id in its console.':
    'check 命令会说明有没有回执、为什么没有。请在服务商的控制台按它的编号查询。',
  'The phone has it, since {at}.': '手机已于 {at} 收到。',
  'Let the person look among blocked and filtered messages, and compare the number.':
    '请客户查看被拦截和过滤的短信，并核对号码。',
  'Its last report, at {at}: {status}.': '最近的回执（{at}）：{status}。',
  'The carrier has it, and the phone not yet: it may be off or without a network.':
    '运营商已接收，手机还没有：可能关机或没有信号。',
  'The carrier did not deliver it: {status}.': '运营商没有投递成功：{status}。',
  '{status} {code}': '{status}，错误码 {code}',
  'Look the code up in the provider’s list of errors: an unreachable phone, a wrong number, or a filter.':
    '请在服务商的错误码表中查这个代码：手机无法接通、号码有误或被拦截。',
  'The provider refuses this recipient for good, and the platform was told.':
    '服务商明确拒绝这个收件人，已告知平台。',
  'Compare address or number with what the person says. The reply in the timeline has the reason.':
    '请与客户核对地址或号码。原因见时间线中的应答。',
  'The provider refuses the content for good, and the platform was told.':
    '服务商明确拒绝这个内容，已告知平台。',
  'The reply in the timeline has the reason: reputation, links, SPF or DKIM (“check” looks at them), or a template.':
    '原因见时间线中的应答：信誉、链接、SPF 或 DKIM（check 命令会检查），或者模板。',
  'The provider does not send to this country, and the platform was told.':
    '服务商不向这个国家发送，已告知平台。',
  'Allow the country in the provider’s console, or send it by another carrier (SMS_ROUTES).':
    '请在服务商的控制台开通这个国家，或改用其他服务商（SMS_ROUTES）。',
  'The number may have no more messages for now, and the platform was told.':
    '这个号码已被限流，暂时不能再收，已告知平台。',
  'Raise the carrier’s limit for a number, or wait: docs/sms.md has the limits.':
    '请调高服务商对单个号码的频率限制，或等待：各家限制见 docs/zh-CN/sms.md。',
  'The last reply, of {provider}: {reply}': '{provider} 最近的应答：{reply}',
  'No message of anybody is stored.': '存储中没有任何消息。',
  'The newest message to anybody came at {at}.': '最新的一条消息（发给任何人）于 {at} 到达。',
  'No caller was refused since the start.': '启动以来没有拒绝过调用。',
  'Callers refused since the start: {count}, the last at {at}: {reason}.':
    '启动以来被拒绝的调用：{count} 次，最近一次在 {at}：{reason}。',
  'Held back by the quota {quota} since the start: {count}, the last at {at}.':
    '启动以来被配额 {quota} 拦下 {count} 条，最近一条在 {at}。',
  'The last validation of the URL failed at {at}: {reason}.': '最近一次验证 URL 失败（{at}）：{reason}。',
  'The service accepts no callbacks now: they are answered 503, and not stored. “callback-courier check” says why.':
    '服务现在不接受回调：应答 503，也不存储。原因请看“callback-courier check”。',
  'No message to this recipient: the platform did not ask for one, or the callback was refused.':
    '没有发给这个收件人的消息：平台没有要求发送，或者回调被拒绝了。',
  'The log has each callback that was refused, with its reason: events callback, stray, over-quota.':
    '日志中有每个被拒绝的回调及原因，见 callback、stray、over-quota 事件。',

  // find
  email: '邮件',
  sms: '短信',
  'nobody answers at {url}: start the service': '{url} 没有应答：请启动服务',
  '{url} says {status}: {text}': '{url} 应答 {status}：{text}',

  // check
  ok: '正常',
  warn: '注意',
  fail: '失败',
  '{ok} ok, {warn} to look at, {fail} failed': '{ok} 项正常，{warn} 项需要注意，{fail} 项失败',

  // Test send, URLs, words
  'Choose a kind and type one recipient.': '请选择类型，并输入一个收件人。',
  'Sends one real message by the road of every other: words, store, provider. An SMS costs money; quotas count it.':
    '发送一条真实的消息，流程与其他消息完全相同：文案、存储、服务商。短信会产生费用，并计入配额。',
  To: '收件人',
  'Send it': '发送',
  accepted: '已接受',
  'See what became of it': '查看结果',
  'Paste each into the platform’s console with that channel’s Token, press “validate”, save. Whoever knows a URL can send in your name: treat it as a password.':
    '把每个 URL 和该通道的 Token 一起粘贴到平台的控制台，点击“验证”，保存。知道 URL 的人就能以您的名义发送：请像对待密码一样对待它。',
  'Show the e-mail URL': '显示邮件的 URL',
  'Show the SMS URL': '显示短信的 URL',
  Copied: '已复制',
  Copy: '复制',
  'There are no such words.': '没有这个文案。',
  'There is no such mail.': '没有这封邮件。',
  Mails: '邮件',
  '{problem}; the last good one is used.': '{problem}；仍在使用上一个可用的版本。',
  '{file}, line {line}: rendered in full for every mail, which takes longer, because of {because}.':
    '{file} 第 {line} 行：每封邮件都要完整渲染，因此较慢，原因是 {because}。',
  'Each as a reader gets it, with your name and colour, and with invented codes and links.':
    '每一条都与收件人看到的一样，带有您的名称和颜色；验证码和链接是虚构的。',
  Languages: '语言',
  'billed as 1 segment': '按 1 条计费',
  'billed as {n} segments': '按 {n} 条计费',
  'The mail as a reader sees it': '收件人看到的邮件',
  'The same as text': '纯文本版',
  '{kind} in {locale}': '{kind}（{locale}）',
} as const

/** Sentences that other rooms write in English, since logs show them as well, and that the console or `check` shows. */
export const zhCNOfOthers: Readonly<Record<string, string>> = {
  // Why so many at once
  'as many as the settings allow': '已达设置允许的上限',
  'not measured yet: they were never all in use for long enough': '尚未测出：从未长时间用满',
  'trying {to} instead of {from}': '正在试用 {to}，代替 {from}',
  'raised from {from} to {to}: all were in use, and more was answered':
    '从 {from} 提高到 {to}：全部用满，且应答更多',
  'lowered from {from} to {to}: as much was answered': '从 {from} 降低到 {to}：应答同样多',
  'kept: with {to} no more was answered': '保持不变：用 {to} 时应答没有更多',
  'kept: with {to} less was answered': '保持不变：用 {to} 时应答更少',
  'lowered from {from} to {to}: attempts failed while most were in use':
    '从 {from} 降低到 {to}：接近用满时有失败',
  'the provider refused every request; one more at a time is tried': '服务商拒绝了所有请求；正在逐个试探',
  'the provider refused more than {accepted} connections; {next}': '服务商最多接受 {accepted} 个连接；{next}',
  'the provider refused more than {accepted} requests at once; {next}':
    '服务商最多同时接受 {accepted} 个请求；{next}',
  'one more is tried in {seconds} s': '{seconds} 秒后再多试一个',
  'one more is tried when it is needed': '需要时再多试一个',
  'the provider asked for a pause; it ends in {seconds} s': '服务商要求暂停，还有 {seconds} 秒',

  // How an attempt ended, and what a carrier reported
  sent: '已发送',
  rejected: '被拒绝',
  retry: '待重试',
  limit: '被限流',
  ambiguous: '结果不明',
  skipped: '已跳过',
  'lease-lost': '进程中断',
  released: '未曾开始',
  cancelled: '已取消',
  reported: '回执确认',
  'looked-up': '已查询',
  accepted: '已接受',
  scheduled: '已安排',
  queued: '排队中',
  sending: '发送中',
  delivered: '已送达',
  undelivered: '未送达',
  failed: '失败',
  canceled: '已取消',
  read: '已读',
  'a delivery report says that it was taken': '回执表明已被接收',
  'the stored content cannot be read': '存储的内容无法读取',

  // Why a caller is refused
  'no such enterprise, or this channel is off': '没有这个企业，或该通道未开启',
  'the caller is not among the allowed sources': '调用方不在允许的来源之内',
  'the key in the URL is wrong': 'URL 中的密钥不对',
  'the timestamp is too old or in the future': '时间戳太旧，或在将来',
  'timestamp and signature are missing': '缺少时间戳和签名',
  'the signature is wrong': '签名不对',

  // The certificate and its chain
  complete: '完整',
  incomplete: '不完整',
  'self-signed': '自签名',

  // The subscription of device alerts
  unreachable: '无法连接',
  silent: '没有应答',
  closed: '连接已关闭',
  stopped: '已停止',
  refused: '被拒绝',
  'the certificate is self-signed': '证书是自签名的',
  'get one of a public authority, since only clients that are told to trust this one do':
    '请使用公共机构签发的证书：只有被设置为信任它的客户端才接受现在的这个',
  'log in: {why}': '登录：{why}',
  'authenticate: {why}': '认证：{why}',
  'subscribe to {a}: {why}': '订阅 {a}：{why}',
  'no connection in time': '未能及时建立连接',
  'the connection was closed': '连接被关闭',
  'the server does not speak HTTP/2': '服务器不支持 HTTP/2',
  'told to end': '收到退出指令',
  'the server said goodbye (GOAWAY {a})': '服务器结束了会话（GOAWAY {a}）',
  'nothing was heard for {a} ms': '{a} 毫秒内没有收到任何数据',
  'the server ended the subscription': '服务器结束了订阅',
  'the server sends {a}': '服务器发来{a}',
  'a frame that is too long': '过长的帧',
  'a flood of DATA frames with next to nothing in them': '大量几乎为空的 DATA 帧',
  'a flood of frames, at last {a}': '大量的帧，最后一个是 {a}',
  'of an unknown type': '未知类型',
  'objects without an end': '没有结尾的对象',
  'a flood of what is no message': '大量不是消息的内容',
  'refused: HTTP {status}, code {code}': '被拒绝：HTTP {status}，代码 {code}',
  'refused: HTTP {status}, code {code}, {message}': '被拒绝：HTTP {status}，代码 {code}，{message}',
  'answered HTTP {status}, {message}': '应答 HTTP {status}，{message}',
  'refused: HTTP {status}, code none': '被拒绝：HTTP {status}，没有代码',
  'refused: HTTP {status}, code none, {message}': '被拒绝：HTTP {status}，没有代码，{message}',
  'no answer within {a} ms': '{a} 毫秒内没有应答',
  'the certificate changed but cannot be used': '证书已改变，但无法使用',
  'the last good one is served': '仍在使用上一个可用的证书',
  'an unknown fault': '不明故障',
  'unknown fault': '不明故障',
  'not JSON': '不是 JSON',
  'not a JSON object': '不是 JSON 对象',
  'not an envelope of code, msg and data': '不含 code、msg 和 data',

  // What check looks at
  certificate: '证书',
  store: '存储',
  disk: '磁盘',
  settings: '设置',
  clock: '时钟',
  'open files': '打开文件数',
  memory: '内存',
  templates: '模板',
  quotas: '配额',
  links: '链接',
  callers: '调用方',
  alerts: '设备告警',
  traces: '追踪',
  receipts: '回执',
  files: '文件',
  providers: '服务商',
  sender: '发件人',
  machine: '本机',
  'tencent limits': '腾讯云频率限制',
  'email URL': '邮件 URL',
  'sms URL': '短信 URL',
  'aliyun signature {a}': 'aliyun 签名 {a}',
  'aliyun template {a}': 'aliyun 模板 {a}',
  'tencent signature {a}': 'tencent 签名 {a}',
  'tencent template {a}': 'tencent 模板 {a}',
  'this was not foreseen': '这是意料之外的情况',
  'please report it': '请向我们报告',
  'see docs/sms.md': '见 docs/zh-CN/sms.md',
  'see docs/operations.md': '见 docs/zh-CN/operations.md',
  'see .env.example': '见 .env.example',

  // check: settings
  'read; email is {a}, sms is {b}': '已读取；邮件{a}，短信{b}',
  on: '已开启',
  off: '未开启',
  '{a} characters, fingerprint {b}': '{a} 个字符，指纹 {b}',
  'is not set': '没有设置',
  'set it to this service as the platform reaches it, so that `urls` can print what to paste':
    '请设置为平台访问本服务的地址，`urls` 才能打印要粘贴的内容',
  'let in by {a}': '凭以下各项放行：{a}',
  'the key in the URL': 'URL 中的密钥',
  '{a} allowed networks': '{a} 个允许的网段',
  'a signature on every POST': '每个 POST 的签名',
  'once the console or the metrics show that POSTs come signed, set POST_SIGNATURE=required':
    '控制台或指标显示 POST 都带签名之后，请设置 POST_SIGNATURE=required',
  'to {a}, https only': '只能指向 {a}，仅限 https',
  'to {a}, http too': '只能指向 {a}，也允许 http',
  'to any host, https only': '可以指向任何主机，仅限 https',
  'to any host, http too': '可以指向任何主机，也允许 http',
  'when you know what links the platform sends, set LINK_HOSTS and LINKS_HTTPS_ONLY=on':
    '知道平台会发哪些链接之后，请设置 LINK_HOSTS 和 LINKS_HTTPS_ONLY=on',
  'nothing limits all SMS of a minute': '每分钟的短信总数没有限制',
  'nothing limits all SMS of a day': '每天的短信总数没有限制',
  'nothing limits all mails of a minute': '每分钟的邮件总数没有限制',
  'nothing limits all mails of a day': '每天的邮件总数没有限制',
  'nothing limits the alarms to one recipient': '发给同一收件人的告警没有限制',
  'set {a} to {b}': '请把 {a} 设置为{b}',
  'a number': '一个数字',
  'whoever gets hold of the URL sends a thousand SMS a second, at some cents each':
    '谁拿到 URL，谁就能每秒发一千条短信，每条都要付费',
  'what you are willing to pay': '您愿意付费的数量',
  '600 a minute are 860,000 in a day': '每分钟 600 条就是每天 86 万条',
  'one flood in your name, and your domain is on block lists': '以您的名义刷一次量，您的域名就会进黑名单',
  'one device that flutters fills a mailbox, or costs an SMS each time':
    '一台反复上下线的设备就能塞满一个邮箱，或者每次都产生一条短信的费用',
  'QUOTA_EMAIL_PER_DAY would protect your reputation as a sender': 'QUOTA_EMAIL_PER_DAY 可以保护您的发件信誉',
  '{a} ends in a digit': '{a} 以数字结尾',
  'Token and timestamp are signed without anything between them, so choose one that ends in a letter (`callback-courier token`)':
    'Token 与时间戳直接相连后签名，请改用以字母结尾的（`callback-courier token`）',
  '{a} has a character that dotenv files and container env files read differently (space, #, quote, $, \\)':
    '{a} 含有 dotenv 文件与容器 env 文件读法不同的字符（空格、#、引号、$、\\）',
  'compare its fingerprint (`callback-courier check`), or choose another Token':
    '请核对指纹（`callback-courier check`），或换一个 Token',
  '{a} has fewer than 16 characters and can be guessed': '{a} 不足 16 个字符，可能被猜出',
  '`callback-courier token` makes a good one': '`callback-courier token` 可以生成一个好的',
  'EMAIL_TOKEN and SMS_TOKEN are the same': 'EMAIL_TOKEN 与 SMS_TOKEN 相同',
  'give each channel its own': '请给每个通道一个单独的',
  '{a} repeats few characters and may be guessed': '{a} 只重复少数几个字符，可能被猜出',
  'make one with `callback-courier token`': '请用 `callback-courier token` 生成',
  'ALLOWED_SOURCES contains a network of everybody (/0)': 'ALLOWED_SOURCES 含有包括所有人的网段（/0）',
  'it protects nothing': '等于没有保护',
  'TRUSTED_PROXIES contains a network of everybody (/0)': 'TRUSTED_PROXIES 含有包括所有人的网段（/0）',
  'any caller can then claim any address': '任何调用方都可以谎称任何地址',
  'TLS=off means a proxy in front, but TRUSTED_PROXIES is empty':
    'TLS=off 表示前面有代理，但 TRUSTED_PROXIES 是空的',
  "ALLOWED_SOURCES will be compared with the proxy's address": 'ALLOWED_SOURCES 将与代理的地址比较',
  "SMTP_LOGIN_WITHOUT_TLS=on lets the mail server's password cross the network in the clear":
    'SMTP_LOGIN_WITHOUT_TLS=on 会让邮件服务器的密码以明文经过网络',
  'use a server with TLS, and leave it out': '请使用支持 TLS 的服务器，并去掉这一项',
  'ALERTS is set, but nobody is told of anything': '设置了 ALERTS，但不会通知任何人',
  'set DDQ_HOST as well': '请同时设置 DDQ_HOST',
  'SMS_COUNTRIES=* lets SMS go to every country, also to those where one SMS costs much':
    'SMS_COUNTRIES=* 允许向所有国家发短信，包括单价很高的国家',
  'SMS_COUNTRIES has {a}, which no route leads to': 'SMS_COUNTRIES 含有 {a}，但没有通向那里的路由',
  'add it to SMS_ROUTES': '请加到 SMS_ROUTES 中',

  // check: settings that are missing or wrong
  'is missing. {a}': '没有设置。{a}',
  'is missing': '没有设置',
  "Your enterprise's identifier on the platform, as its console shows it.":
    '企业在平台上的标识，见平台的控制台。',
  'must be {a}': '必须是 {a}',
  'must be one of {a}': '必须是以下之一：{a}',
  'must be a whole number from {a} to {b}': '必须是 {a} 到 {b} 之间的整数',
  'such as {a}': '形如 {a}',
  'must be such as {a}': '必须形如 {a}',
  'set it to switch e-mail on, or SMS_TOKEN to switch SMS on (`callback-courier token` makes one)':
    '设置它即开启邮件，设置 SMS_TOKEN 即开启短信（`callback-courier token` 可以生成）',
  'set it to the name people know you by, or put a name into MAIL_FROM':
    '请设置为大家熟知的名称，或在 MAIL_FROM 中写上名称',
  'it is needed with postgres': '使用 postgres 时必须有',
  'a long random text, the same for every instance': '一段长的随机文本，每个实例都相同',
  'e-mail is on (EMAIL_TOKEN), so say who mails are from': '邮件已开启（EMAIL_TOKEN），请写明发件人',
  'Example <no-reply@example.com>': 'Example <no-reply@example.com>',
  'SMS is on (SMS_TOKEN)': '短信已开启（SMS_TOKEN）',
  "set it to your country's calling code (86), or say in SMS_COUNTRIES where SMS may go":
    '请设置为本国的国际区号（86），或在 SMS_COUNTRIES 中写明短信可以发往哪里',
  'there are several SMS carriers, so say which of them is asked first': '有多个短信服务商，请写明先用哪一个',
  'leads to {a}, of which nothing is set': '通向 {a}，但它没有任何设置',
  'set it, or take it out of the routes': '请设置它，或从路由中去掉',
  'leads to a carrier that there is not': '通向不存在的服务商',
  'choose from {a}': '请从中选择：{a}',
  'device alerts are on (DDQ_HOST), so set {a}': '设备告警已开启（DDQ_HOST），请设置{a}',
  "the platform API's address": '平台 API 的地址',
  "the application's identifier": '应用的标识',
  "the application's secret": '应用的密钥',
  'who is to be told of what (or ALERTS_FILE)': '什么事通知谁（或 ALERTS_FILE）',
  'has fewer than {a} characters, so that whoever sees the URL could guess it and send in your name':
    '不足 {a} 个字符，看到 URL 的人可能猜出它，并以您的名义发送',
  'is one that guessers try, so that whoever sees the URL could guess it and send in your name':
    '是常被尝试的那种，看到 URL 的人可能猜出它，并以您的名义发送',
  'make a new one with `callback-courier token`, or set {a}_CALLBACK_KEY (22 or more random characters) or ALLOWED_SOURCES':
    '请用 `callback-courier token` 生成新的，或设置 {a}_CALLBACK_KEY（22 个以上随机字符）或 ALLOWED_SOURCES',
  'HTTPS needs it; or set TLS=off when a proxy in front ends TLS':
    'HTTPS 需要它；如果前面有代理负责 TLS，请设置 TLS=off',
  'calls a carrier {a}, as another one is called': '把一个服务商命名为 {a}，与另一个重名',
  'choose a name of its own': '请另取一个名称',
  'is the same as PORT': '与 PORT 相同',
  'choose another one': '请换一个',
  'console and metrics can be reached from other machines (ADMIN_HOST)':
    '其他机器可以访问控制台和指标（ADMIN_HOST）',
  'set a password of 16 or more characters (or ADMIN_TOKENS, one for each operator), or ADMIN_HOST=127.0.0.1':
    '请设置 16 个以上字符的密码（或 ADMIN_TOKENS，每人一个），或设置 ADMIN_HOST=127.0.0.1',
  'the metrics have a password (METRICS_TOKEN), so the console needs one, too':
    '指标有密码（METRICS_TOKEN），控制台也需要一个',
  'other machines are told what becomes of messages (EVENTS_URL), so set the key that is signed with: whsec_ and 32 random bytes in base64':
    '已设置向其他系统通知消息结果（EVENTS_URL），请设置签名密钥：whsec_ 加 base64 编码的 32 个随机字节',
  'must be an https address such as https://hooks.example.com/courier, without user and password (http only on this machine: localhost, 127.0.0.1)':
    '必须是 https 地址，例如 https://hooks.example.com/courier，不含用户名和密码（http 仅限本机：localhost、127.0.0.1）',
  'must be whsec_ and 24 to 64 random bytes in base64; two are parted by a space':
    '必须是 whsec_ 加 base64 编码的 24 至 64 个随机字节；两个之间用空格分隔',
  'the status API has a password (STATUS_TOKEN), so the console needs one, too':
    '状态接口有密码（STATUS_TOKEN），控制台也需要一个',
  'repeats a few characters, or is one that guessers try': '只重复几个字符，或是常被尝试的那种',
  'make one with `callback-courier token`, which also serves here':
    '请用 `callback-courier token` 生成，这里也可以用',
  'repeats another password of the private listener': '与内部端口的另一个密码相同',
  'each needs its own': '每个都要单独的',
  'DKIM needs DKIM_DOMAIN, DKIM_SELECTOR and DKIM_KEY_FILE, or none of them':
    'DKIM 需要 DKIM_DOMAIN、DKIM_SELECTOR 和 DKIM_KEY_FILE，要么都设，要么都不设',
  'is the example of .env.example, which everybody knows': '是 .env.example 中人人都知道的示例',
  'choose your own': '请用自己的',
  '{a} in {b} is cut short at its #': '{b} 中的 {a} 在 # 处被截断',
  'put the whole value into single quotes': '请把整个值放进单引号',
  'line {a} of {b}': '{b} 的第 {a} 行',
  'line {a} of {b} sets nothing': '{b} 的第 {a} 行没有设置任何东西',
  'line {a} of {b} sets nothing, though it names {c}': '{b} 的第 {a} 行没有设置任何东西，虽然提到了 {c}',
  'sets nothing': '没有设置任何东西',
  'sets nothing, though it names {a}': '没有设置任何东西，虽然提到了 {a}',
  'write {a}=value, or # in front of a remark': '请写成 {a}=值；如果是注释，请在前面加 #',
  'and {a}_FILE are both set': '与 {a}_FILE 同时设置了',
  'remove one of them': '请去掉其中一个',
  'is given by {a}_FILE, but that file is empty': '由 {a}_FILE 给出，但那个文件是空的',
  'is given by {a}_FILE, but that file {b}': '由 {a}_FILE 给出，但那个文件{b}',
  '{a} is not a setting and is ignored': '{a} 不是设置项，已忽略',
  'did you mean {a}?': '是否想写 {a}？',
  '{a} is not a setting of this service and is ignored': '{a} 不是本服务的设置项，已忽略',
  'a path such as /subscribe': '形如 /subscribe 的路径',
  'a host name or an address, without http:// and without a port': '主机名或地址，不带 http:// 和端口',
  'up to 32 characters without spaces': '至多 32 个字符，不含空格',
  'ping, settings or post:/path': 'ping、settings 或 post:/path',
  '22 to 128 characters, each a letter, a digit or one of . _ ~ -':
    '22 到 128 个字符，限字母、数字和 . _ ~ -',
  'up to 64 letters, digits and . _ ~ -, beginning with a letter or digit':
    '至多 64 个字母、数字和 . _ ~ -，以字母或数字开头',
  'letters, digits, dots and hyphens': '字母、数字、点和连字符',
  'at least 22 characters': '至少 22 个字符',
  '1 to 40 characters on one line': '一行之内 1 到 40 个字符',
  'the SdkAppId, digits only': 'SdkAppId，只有数字',
  'a region such as ap-guangzhou': '形如 ap-guangzhou 的地域',
  'AC and 32 hex digits': 'AC 加 32 位十六进制数字',
  'SK and 32 hex digits': 'SK 加 32 位十六进制数字',
  'MG and 32 hex digits': 'MG 加 32 位十六进制数字',
  'the approved signature without 【】 and blanks': '已审核的签名，不带【】和空格',
  'must be on or off': '必须是 on 或 off',
  'must be a list of networks such as 203.0.113.0/24, 2001:db8::/32 or single addresses':
    '必须是网段列表，形如 203.0.113.0/24、2001:db8::/32，或单个地址',
  'must be a list of host names such as www.example.com, without https:// and without a path':
    '必须是主机名列表，形如 www.example.com，不带 https:// 和路径',
  'must be a host name such as www.example.com, without https:// and without a path':
    '必须是主机名，形如 www.example.com，不带 https:// 和路径',
  'must be secrets of at least 22 characters each, parted by spaces':
    '必须是以空格分隔的密钥，每个至少 22 个字符',
  'must be a whole number from 1 to 999999999, or off': '必须是 1 到 999999999 之间的整数，或 off',
  'must be six hex digits such as 1f5fd6': '必须是六位十六进制数字，形如 1f5fd6',
  'must be a language tag such as en, zh-CN or ar': '必须是语言标签，形如 en、zh-CN 或 ar',
  'must be a country calling code such as 86 or +86': '必须是国际区号，形如 86 或 +86',
  'must be routes such as CN=aliyun,tencent; US,CA=twilio; *=twilio':
    '必须是路由，形如 CN=aliyun,tencent; US,CA=twilio; *=twilio',
  '{a}; countries in two letters (Great Britain is GB), * for all others':
    '{a}；国家用两个字母（英国是 GB），* 表示其余所有国家',
  'a route names a carrier twice': '同一条路由中服务商重复',
  'a country has two routes': '同一个国家有两条路由',
  'must be countries in two letters such as CN, US, DE (Great Britain is GB)':
    '必须是两个字母的国家代码，形如 CN、US、DE（英国是 GB）',
  '{a}, or * for all': '{a}，或用 * 表示全部',
  'must be a number such as +15005550006, or a name of up to 11 letters and digits':
    '必须是形如 +15005550006 的号码，或至多 11 个字母和数字的名称',
  'must be JSON such as {"plugin-1": {"signature": "Example", "from": "+15005550006", "signatures": {"aliyun": "Example"}}}; from is a number, a name of up to 11 letters or a messaging service (MG…)':
    '必须是 JSON，形如 {"plugin-1": {"signature": "Example", "from": "+15005550006", "signatures": {"aliyun": "Example"}}}；from 是号码、至多 11 个字母的名称或消息服务（MG…）',
  'must be JSON such as {"US": "+15005550006", "DE": "Example"}; countries in two letters':
    '必须是 JSON，形如 {"US": "+15005550006", "DE": "Example"}；国家用两个字母',
  'must be JSON such as {"CN": "zh-CN", "TW": "zh-TW"}; countries in two letters':
    '必须是 JSON，形如 {"CN": "zh-CN", "TW": "zh-TW"}；国家用两个字母',
  'must be one address such as bounces@example.com': '必须是一个地址，形如 bounces@example.com',
  'must be one sender such as Example <no-reply@example.com>':
    '必须是一个发件人，形如 Example <no-reply@example.com>',
  'must be name:token on each line: a name of letters, digits and . _ @ -, and a token of {a}':
    '每行必须是 name:token：名称限字母、数字和 . _ @ -，token 须为{a}',
  '16 to 256 visible ASCII characters without spaces': '16 到 256 个可见 ASCII 字符，不含空格',
  'must have each name once, and neither admin nor local, which the log uses by itself':
    '每个名称只能出现一次，且不能是 admin 或 local，日志自己要用它们',
  'must be the https address of this service as the platform reaches it, such as https://courier.example.com':
    '必须是平台访问本服务的 https 地址，形如 https://courier.example.com',
  'must be a web address such as https://www.example.com': '必须是网址，形如 https://www.example.com',
  'must be an https address (http only on this machine: localhost, 127.0.0.1)':
    '必须是 https 地址（只有本机可用 http：localhost、127.0.0.1）',
  'must be the address of a proxy such as http://proxy.example.com:3128; {a}':
    '必须是代理的地址，形如 http://proxy.example.com:3128；{a}',
  'must be file:data/outbox.db or postgres://user:password@host:5432/name; {a}':
    '必须是 file:data/outbox.db 或 postgres://user:password@host:5432/name；{a}',
  'write #/?@:% in a user name or password as %23 %2F %3F %40 %3A %25':
    '用户名或密码中的 #/?@:% 要写成 %23 %2F %3F %40 %3A %25',
  'write #/?@:% in user or password as %23 %2F %3F %40 %3A %25':
    '用户名或密码中的 #/?@:% 要写成 %23 %2F %3F %40 %3A %25',
  'must look like smtp://user:password@host:587 or smtps://user:password@host:465; {a}':
    '必须形如 smtp://user:password@host:587 或 smtps://user:password@host:465；{a}',
  'names no host': '没有写主机',
  'has a path; a password with / or # in it must be percent-encoded':
    '含有路径；密码中的 / 或 # 必须用百分号编码',
  'has a #; a password with # in it must be percent-encoded': '含有 #；密码中的 # 必须用百分号编码',
  'knows only ?requireTLS=false and ?ignoreTLS=true': '只认识 ?requireTLS=false 和 ?ignoreTLS=true',
  'has ?{a}= that is neither true nor false': '的 ?{a}= 既不是 true 也不是 false',
  'must be a list of name=value parted by commas, values percent-encoded':
    '必须是以逗号分隔的 name=value 列表，值要用百分号编码',
  'must be the address of a collector such as http://localhost:4318; a key for it stands in OTEL_EXPORTER_OTLP_HEADERS':
    '必须是 collector 的地址，形如 http://localhost:4318；它的密钥写在 OTEL_EXPORTER_OTLP_HEADERS 中',
  'has a user or password with a % that is not percent-encoding; write it as %25':
    '用户名或密码中的 % 不是百分号编码；请写成 %25',
  'e-mail is on (EMAIL_TOKEN), so name your mail server: smtp://user:password@host:587':
    '邮件已开启（EMAIL_TOKEN），请写明邮件服务器：smtp://user:password@host:587',
  'e-mail is on (EMAIL_TOKEN), so name your mail server': '邮件已开启（EMAIL_TOKEN），请写明邮件服务器',
  'has a password and ?ignoreTLS=true, so that it would cross the network in the clear':
    '含有密码和 ?ignoreTLS=true，密码会以明文经过网络',
  'leave ignoreTLS out, or set SMTP_LOGIN_WITHOUT_TLS=on if nobody can listen on the way':
    '请去掉 ignoreTLS；如果途中无人能监听，可以设置 SMTP_LOGIN_WITHOUT_TLS=on',
  'SMS by Aliyun need the AccessKey of a RAM user': '由阿里云发短信需要 RAM 用户的 AccessKey',
  'SMS by Tencent need the API key of a CAM user': '由腾讯云发短信需要 CAM 用户的 API 密钥',
  "SMS by Tencent need the application's SdkAppId": '由腾讯云发短信需要应用的 SdkAppId',
  'it belongs to {a}': '它与 {a} 配套',
  'SMS is on (SMS_TOKEN), so name your Twilio account (AC…)':
    '短信已开启（SMS_TOKEN），请写明 Twilio 账号（AC…）',
  'set it, or TWILIO_API_KEY_SID and TWILIO_API_KEY_SECRET':
    '请设置它，或设置 TWILIO_API_KEY_SID 和 TWILIO_API_KEY_SECRET',
  'set it to a number of yours, or set TWILIO_MESSAGING_SERVICE_SID':
    '请设置为您的一个号码，或设置 TWILIO_MESSAGING_SERVICE_SID',
  'and TWILIO_MESSAGING_SERVICE_SID are both set': '与 TWILIO_MESSAGING_SERVICE_SID 同时设置了',

  'must be prices of a segment such as aliyun:CN=0.045,*=0.5; twilio:*=0.08':
    '必须是每条短信的价格，形如 aliyun:CN=0.045,*=0.5; twilio:*=0.08',
  '{a}; countries in two letters, * for all others, at most four decimals':
    '{a}；国家用两个字母，* 表示其余所有国家，至多四位小数',
  'must be carriers, each once, such as aliyun=5000, twilio=500':
    '必须是服务商，每个一次，形如 aliyun=5000, twilio=500',
  'QUOTA_SMS_COST_PER_DAY counts by these prices': 'QUOTA_SMS_COST_PER_DAY 按这些价格计算',

  // check: files
  'names {a}, which cannot be read ({b})': '指向 {a}，它无法读取（{b}）',
  'names {a}, which {b}': '指向 {a}，它{b}',
  '{a} cannot be read ({b})': '{a} 无法读取（{b}）',
  'cannot be read ({a})': '无法读取（{a}）',
  'look at its path and permissions': '请检查路径和权限',
  'the service runs as user {a}, who must be able to read it and to pass the folders above it; chown {b} gives it to that user':
    '服务以用户 {a} 运行，该用户必须能读取它并能进入上级文件夹；用 chown {b} 把它交给该用户',
  'it is not there; in a container the path is the one inside, of a folder that is mounted':
    '文件不存在；在容器中要写容器内的路径，且所在文件夹已挂载',
  'it is a folder; name the file in it': '这是文件夹；请写其中的文件',
  'holds no certificate in PEM, or a damaged one': '没有 PEM 格式的证书，或证书已损坏',
  'look at it': '请检查',
  'holds no RSA key': '里面不是 RSA 私钥',
  'receivers check nothing else reliably': '收件方只能可靠地校验 RSA',
  'holds no private key in PEM without a passphrase': '没有不带口令的 PEM 私钥',
  'mails would go out unsigned': '邮件会不带签名发出',
  'is a directory': '是一个目录',
  'name a file in it, such as {a}': '请写其中的一个文件，形如 {a}',

  // check: certificate
  'TLS=off: a proxy in front has to end TLS, the platform calls https only':
    'TLS=off：必须由前面的代理负责 TLS，平台只调用 https',
  'the service does not start without a certificate and its key': '没有证书和私钥，服务不会启动',
  'for {a}, until {b}': '用于 {a}，有效期至 {b}',
  'is not for {a}, the host in PUBLIC_URL': '不适用于 PUBLIC_URL 中的主机 {a}',
  'get one for that name, or correct PUBLIC_URL': '请申请该域名的证书，或更正 PUBLIC_URL',
  'see that a certificate of a public authority is served': '请使用公共 CA 签发的证书',
  'TLS_CERT_FILE holds no certificate (-----BEGIN CERTIFICATE-----)':
    'TLS_CERT_FILE 中没有证书（-----BEGIN CERTIFICATE-----）',
  'TLS_KEY_FILE is not the key of the first certificate in TLS_CERT_FILE':
    'TLS_KEY_FILE 不是 TLS_CERT_FILE 中第一个证书的私钥',
  'TLS_CERT_FILE holds a damaged certificate': 'TLS_CERT_FILE 中的证书已损坏',
  'TLS_KEY_FILE has a passphrase': 'TLS_KEY_FILE 带有口令',
  'give a key without one': '请使用不带口令的私钥',
  'TLS_KEY_FILE holds no private key in PEM (-----BEGIN PRIVATE KEY-----)':
    'TLS_KEY_FILE 中没有 PEM 私钥（-----BEGIN PRIVATE KEY-----）',
  'holds no certificate (-----BEGIN CERTIFICATE-----)': '里面没有证书（-----BEGIN CERTIFICATE-----）',
  'is not the key of the first certificate in TLS_CERT_FILE': '不是 TLS_CERT_FILE 中第一个证书的私钥',
  'holds a damaged certificate': '里面的证书已损坏',
  'has a passphrase': '带有口令',
  'holds no private key in PEM (-----BEGIN PRIVATE KEY-----)':
    '里面没有 PEM 私钥（-----BEGIN PRIVATE KEY-----）',
  'the certificate': '证书',
  'a certificate of the chain': '证书链中的一个证书',
  '{a} expired on {b}': '{a}已于 {b} 过期',
  'renew it': '请更新',
  '{a} is valid only from {b}': '{a}从 {b} 起才有效',
  "look at this machine's clock": '请检查本机的时钟',
  '{a} expires on {b}': '{a}将于 {b} 过期',
  '{a} expires in {b} days, on {c}': '{a}将在 {b} 天后（{c}）过期',
  'its RSA key has only {a} bits': '它的 RSA 密钥只有 {a} 位',
  'clients want {a} or more': '客户端要求 {a} 位以上',
  'it names no host (subjectAltName), so no client accepts it':
    '它没有写主机名（subjectAltName），客户端都不会接受',
  'its authority ({a}) is not a public one': '它的签发机构（{a}）不是公共 CA',
  'the platform has to be told to trust it': '需要让平台信任它',
  'the certificate of its issuer ({a}) is missing in the file, so Java clients will refuse the URL':
    '文件中缺少签发者（{a}）的证书，Java 客户端会拒绝这个 URL',
  'use the full chain, such as fullchain.pem instead of cert.pem':
    '请使用完整的证书链，例如用 fullchain.pem 代替 cert.pem',
  'the certificates of the file are not in order': '文件中证书的顺序不对',
  'first your own, then each one followed by its issuer': '先是您自己的，然后每个证书后面是它的签发者',
  'the certificate in TLS_CERT_FILE expired on {a}': 'TLS_CERT_FILE 中的证书已于 {a} 过期',
  'the certificate in TLS_CERT_FILE is valid only from {a}': 'TLS_CERT_FILE 中的证书从 {a} 起才有效',
  'the certificate in TLS_CERT_FILE is for {a}, not for {b}, the host in PUBLIC_URL':
    'TLS_CERT_FILE 中的证书用于 {a}，不适用于 PUBLIC_URL 中的主机 {b}',
  'no name': '没有任何名称',
  nobody: '没有任何主机',

  // check: callback URLs
  'validates, in {a} ms': '验证通过，用时 {a} 毫秒',
  'the certificate that is shown at PUBLIC_URL is refused from here':
    '从本机看，PUBLIC_URL 出示的证书不被接受',
  'the platform will refuse it, too, unless it was told to trust it: serve one of a public authority, for this name, with its whole chain':
    '除非设置为信任它，平台也会拒绝：请使用公共 CA 为该域名签发的证书，并带完整的证书链',
  'nobody answers at PUBLIC_URL from here': '从本机访问 PUBLIC_URL 没有应答',
  'start the service; or the way to it is not open from this machine': '请启动服务；或者本机到它的路不通',
  'something else answers at PUBLIC_URL': '在 PUBLIC_URL 应答的是别的程序',
  'look at the proxy in front': '请检查前面的代理',
  'the running service has other settings than these': '正在运行的服务用的是另一套设置',
  'restart it, or run check with its settings': '请重启它，或用它的设置运行 check',
  'HTTP {a}, err_code none {b}': 'HTTP {a}，没有 err_code，{b}',
  'HTTP {a}, err_code none': 'HTTP {a}，没有 err_code',
  'HTTP {a}, err_code {b}': 'HTTP {a}，err_code {b}',

  // check: mail server, DNS of the sender, DKIM
  'look at host, port, user and password in SMTP_URL (and SMTP_FALLBACK_URL), and at the firewall on the way':
    '请检查 SMTP_URL（和 SMTP_FALLBACK_URL）中的主机、端口、用户名和密码，以及途中的防火墙',
  'connected and logged in': '已连接并登录',
  'connected; no login is configured': '已连接；没有设置登录',
  '{a}; takes {b} as sender': '{a}；接受发件人 {b}',
  'the empty sender': '空发件人',
  'takes {a} as sender': '接受发件人 {a}',
  'connected and logged in with an access token for {a} min':
    '已连接，并用有效期 {a} 分钟的 access token 登录',
  'with it came a new refresh token, which is forgotten with the next start: docs/operations.md':
    '同时得到新的 refresh token，下次启动后会丢失：见 docs/zh-CN/operations.md',
  'SMTP AUTH is switched off for the tenant or the mailbox': '该租户或邮箱关闭了 SMTP AUTH',
  'Set-CASMailbox -Identity MAILBOX -SmtpClientAuthenticationDisabled $false, in Exchange Online PowerShell':
    '请在 Exchange Online PowerShell 中运行 Set-CASMailbox -Identity MAILBOX -SmtpClientAuthenticationDisabled $false',
  'the mail server does not offer XOAUTH2': '邮件服务器不提供 XOAUTH2',
  'look at the host in SMTP_URL; a server that takes a password needs it there, and no SMTP_OAUTH2_TOKEN_URL':
    '请检查 SMTP_URL 中的主机；用密码登录的服务器要在那里写密码，并去掉 SMTP_OAUTH2_TOKEN_URL',
  'there is an access token, but the mailbox does not take it': '得到了 access token，但邮箱不接受它',
  'there is an access token, but the server does not take it': '得到了 access token，但服务器不接受它',
  'look at the user in SMTP_URL and at SMTP_OAUTH2_SCOPE; Microsoft 365: SMTP.SendAsApp with admin consent, New-ServicePrincipal with the object id of the enterprise application, Add-MailboxPermission (docs/operations.md)':
    '请检查 SMTP_URL 中的用户和 SMTP_OAUTH2_SCOPE；Microsoft 365 需要管理员同意的 SMTP.SendAsApp、用企业应用对象 ID 的 New-ServicePrincipal，以及 Add-MailboxPermission（docs/zh-CN/operations.md）',
  'look at the user in SMTP_URL, whom the token has to be for, and at SMTP_OAUTH2_SCOPE; for Google consent is to https://mail.google.com/':
    '请检查 SMTP_URL 中的用户（token 必须属于该用户）和 SMTP_OAUTH2_SCOPE；Google 需要授权 https://mail.google.com/',
  'has a user and no password: write user:password@, or set SMTP_OAUTH2_TOKEN_URL, where an access token is asked for in its place':
    '有用户名但没有密码：请写成 user:password@，或设置 SMTP_OAUTH2_TOKEN_URL，改为在那里获取 access token',
  'has a user and no password': '有用户名但没有密码',
  'write user:password@, or set SMTP_OAUTH2_TOKEN_URL, where an access token is asked for in its place':
    '请写成 user:password@，或设置 SMTP_OAUTH2_TOKEN_URL，改为在那里获取 access token',
  '{a} needs it': '{a} 需要它',
  'needs a user and no password for SMTP_OAUTH2_TOKEN_URL':
    '使用 SMTP_OAUTH2_TOKEN_URL 时要有用户名且不能有密码',
  'write smtp://courier%40example.com@smtp.office365.com:587, or leave the other out':
    '请写成 smtp://courier%40example.com@smtp.office365.com:587，或去掉另一项',
  'it belongs to {a}, unless there is a refresh token': '它与 {a} 配套，除非有 refresh token',
  'has a login and ?ignoreTLS=true, so that it would cross the network in the clear':
    '含有登录信息和 ?ignoreTLS=true，会以明文经过网络',
  'asking for an access token failed in an unexpected way': '获取 access token 时出现意外故障',
  'no access token': '没有得到 access token',
  'HTTP {a} without one': 'HTTP {a}，其中没有',
  'the token endpoint answers HTTP {a}, and no token': '获取 token 的端点应答 HTTP {a}，没有 token',
  'nothing is to be mended here': '这边无需处理',
  'it is tried again': '会自动重试',
  'look at {a}': '请检查 {a}',
  'the token endpoint asks for time': '获取 token 的端点要求稍候',
  'the token endpoint refuses the client': '获取 token 的端点拒绝这个 client',
  'look at SMTP_OAUTH2_CLIENT_ID and {a}': '请检查 SMTP_OAUTH2_CLIENT_ID，以及 {a}',
  'whether this client needs SMTP_OAUTH2_CLIENT_SECRET': '这个 client 是否需要 SMTP_OAUTH2_CLIENT_SECRET',
  'SMTP_OAUTH2_CLIENT_SECRET: it may have expired, or be the identifier of the secret instead of its value':
    'SMTP_OAUTH2_CLIENT_SECRET：可能已过期，或填的是密钥的标识而不是值',
  'it may have expired, or be the identifier of the secret instead of its value':
    '可能已过期，或填的是密钥的标识而不是值',
  'the token endpoint refuses the refresh token': '获取 token 的端点拒绝 refresh token',
  'it has expired, was revoked or belongs to another client: let the mailbox consent again, and set SMTP_OAUTH2_REFRESH_TOKEN':
    '它已过期、被撤销或属于另一个 client：请让邮箱重新授权，并设置 SMTP_OAUTH2_REFRESH_TOKEN',
  'the token endpoint refuses the scope': '获取 token 的端点拒绝 scope',
  'look at SMTP_OAUTH2_SCOPE; for Microsoft 365 with client credentials it is https://outlook.office365.com/.default':
    '请检查 SMTP_OAUTH2_SCOPE；Microsoft 365 使用 client credentials 时应为 https://outlook.office365.com/.default',
  'the token endpoint does not let this client ask for itself (client credentials)':
    '获取 token 的端点不允许这个 client 以自己的名义获取（client credentials）',
  'the token endpoint does not let this client ask with a refresh token':
    '获取 token 的端点不允许这个 client 用 refresh token 获取',
  'look at SMTP_OAUTH2_CLIENT_ID and at the tenant in SMTP_OAUTH2_TOKEN_URL, and at what the application is registered for':
    '请检查 SMTP_OAUTH2_CLIENT_ID、SMTP_OAUTH2_TOKEN_URL 中的租户，以及应用注册的用途',
  'the token endpoint refuses the request': '获取 token 的端点拒绝请求',
  'its own words say why: often SMTP_OAUTH2_SCOPE is missing, or SMTP_OAUTH2_TOKEN_URL names the wrong tenant':
    '原因见它的原话：往往是没有设置 SMTP_OAUTH2_SCOPE，或 SMTP_OAUTH2_TOKEN_URL 中的租户有误',
  'connecting took too long': '连接太慢',
  'the sender is refused': '发件人被拒绝',
  'the DNS has no address for {a}': 'DNS 中没有 {a} 的地址',
  'look at the host in {a}, and whether this machine can ask the DNS':
    '请检查 {a} 中的主机，以及本机能否查询 DNS',
  'nothing listens at {a}': '{a} 上没有程序在监听',
  'look at host and port in {a}, and whether the server runs':
    '请检查 {a} 中的主机和端口，以及服务器是否在运行',
  '{a} does not speak TLS from the first byte': '{a} 不是从第一个字节就使用 TLS',
  'look at scheme and port in {a}': '请检查 {a} 中的协议和端口',
  '{a} does not answer': '{a} 没有应答',
  'look at the firewall on the way, and at host and port in {a}':
    '请检查途中的防火墙，以及 {a} 中的主机和端口',
  'the connection to {a} fails': '连接 {a} 失败',
  'look at the firewall on the way, at HTTPS_PROXY and at {a}': '请检查途中的防火墙、HTTPS_PROXY 和 {a}',
  'the certificate of {a} has expired': '{a} 的证书已过期',
  'whoever runs the server has to renew it; look at the clock of this machine, too':
    '需要由服务器的运维方更新；也请检查本机的时钟',
  'the certificate is not for the name {a}': '证书不适用于域名 {a}',
  'write the name into {a} that is in the certificate': '请在 {a} 中写证书里的域名',
  'the certificate of {a} is of an authority that is not trusted here': '{a} 的证书由此处不信任的机构签发',
  'set TLS_CA_FILE to the certificate of that authority; a server of the internet has to send its whole chain':
    '请把 TLS_CA_FILE 设置为该机构的证书；互联网上的服务器必须发送完整的证书链',
  'write smtp:// (STARTTLS) instead of smtps://, or the port for smtps://, which is 465':
    '请用 smtp://（STARTTLS）代替 smtps://，或使用 smtps:// 的端口 465',
  '{a} waits for TLS from the first byte': '{a} 要求从第一个字节就使用 TLS',
  'write smtps:// instead of smtp://': '请用 smtps:// 代替 smtp://',
  '{a} takes the connection, and says nothing': '{a} 接受了连接，但没有任何应答',
  'look at the server, and whether a firewall or proxy on the way answers in its place':
    '请检查服务器，以及是否有途中的防火墙或代理替它应答',
  'look at the server that {a} names, and whether a firewall or proxy on the way answers in its place':
    '请检查 {a} 所指的服务器，以及是否有途中的防火墙或代理替它应答',
  '{a} takes the connection, and hangs up': '{a} 接受连接后又断开',
  'look at scheme and port in {a}, and at the log of the server':
    '请检查 {a} 中的协议和端口，以及服务器的日志',
  '{a} does not speak HTTP': '{a} 用的不是 HTTP',
  'the proxy refuses the way to {a}': '代理拒绝连接 {a}',
  'look at user and password in HTTPS_PROXY': '请检查 HTTPS_PROXY 中的用户名和密码',
  'let the proxy allow it, or name the host in NO_PROXY': '请在代理上放行，或在 NO_PROXY 中写上该主机',
  'took a signed POST without events': '接收了一个不含事件的签名 POST',
  'look at its log: events wait until it answers 2xx, three days at most':
    '请查看它的日志：在它应答 2xx 之前，事件会一直等待，至多三天',
  'the collector took a request without spans': 'collector 接收了一个不含 span 的请求',
  'look at its log, and whether it takes OTLP over HTTP as JSON; callbacks do not wait for it':
    '请查看它的日志，以及它是否接收 HTTP 上 JSON 格式的 OTLP；回调不会等它',
  'wants nothing any more (HTTP {a})': '不再接收任何内容（HTTP {a}）',
  'let it answer 2xx, and start the service anew: it tells nothing more until then':
    '请让它应答 2xx，然后重启服务：在此之前不再通知',
  'refuses the request (HTTP {a})': '拒绝请求（HTTP {a}）',
  'EVENTS_SECRET has to be the same there, and both clocks right':
    '两边的 EVENTS_SECRET 必须相同，时钟也必须都准确',
  'look at OTEL_EXPORTER_OTLP_HEADERS': '请检查 OTEL_EXPORTER_OTLP_HEADERS',
  'redirects, which is not followed (HTTP {a})': '要求重定向，但不会跟随（HTTP {a}）',
  'write the address that it leads to into {a}': '请把它指向的地址写入 {a}',
  'takes no POST at this path (HTTP {a})': '在此路径上不接收 POST（HTTP {a}）',
  'look at the path in {a}': '请检查 {a} 中的路径',
  'answers HTTP {a}': '应答 HTTP {a}',
  'its answer takes the expressions of the file too long': '文件中的表达式处理它的应答用时过长',
  'its request {a}': '它的请求{a}',
  'has . or .. for a part of its path': '路径中有一段是 . 或 ..',
  'look at host and port in {a}': '请检查 {a} 中的主机和端口',
  'the server wants a login': '服务器要求登录',
  'write user and password into SMTP_URL, percent-encoded, or the user alone with SMTP_OAUTH2_TOKEN_URL':
    '请在 SMTP_URL 中写入用户名和密码（百分号编码），使用 SMTP_OAUTH2_TOKEN_URL 时只写用户名',
  'the server refuses the sender': '服务器拒绝这个发件人',
  'set MAIL_BOUNCE_TO, or MAIL_FROM, to an address that this login may send as':
    '请把 MAIL_BOUNCE_TO 或 MAIL_FROM 设置为此账号可以使用的发件地址',
  'the server refuses the login': '服务器拒绝登录',
  'look at user and password in SMTP_URL; many providers want an app password, or SMTP switched on for the mailbox':
    '请检查 SMTP_URL 中的用户名和密码；许多服务商要求使用授权码，或先为邮箱开启 SMTP',
  '{a} offers no TLS': '{a} 不提供 TLS',
  'look at the port in SMTP_URL; 587 is the usual one': '请检查 SMTP_URL 中的端口；通常是 587',
  'the server refuses the connection': '服务器拒绝连接',
  'its own words say why: often the address that this machine connects from has to be allowed':
    '原因见它的原话：往往需要把本机的出口地址加入白名单',
  '{a} is no domain of the internet': '{a} 不是互联网域名',
  'receivers refuse such a sender': '收件方会拒绝这样的发件人',
  'set MAIL_FROM to an address of your own domain': '请把 MAIL_FROM 设置为您自己域名的地址',
  '{a} is no domain of the internet: receivers refuse such a sender':
    '{a} 不是互联网域名：收件方会拒绝这样的发件人',
  '{a} has no SPF record': '{a} 没有 SPF 记录',
  "publish the TXT record that your mail server's operator names, such as: v=spf1 include:… ~all":
    '请发布邮件服务器运维方给出的 TXT 记录，形如：v=spf1 include:… ~all',
  '{a} has {b} SPF records, which receivers take for a fault': '{a} 有 {b} 条 SPF 记录，收件方视为错误',
  'make them one': '请合并为一条',
  '{a} lets everybody send in its name (+all)': '{a} 允许任何人以它的名义发送（+all）',
  'let it end in ~all or -all': '请让它以 ~all 或 -all 结尾',
  '{a} says that nobody may send in its name': '{a} 声明任何人都不能以它的名义发送',
  'name your mail server in it': '请在其中写上您的邮件服务器',
  '{a} names who may send: {b}': '{a} 写明了谁可以发送：{b}',
  '{a} has no DMARC record, which large mailbox providers ask for':
    '{a} 没有 DMARC 记录，大型邮箱服务商要求有',
  'publish a TXT record under _dmarc.{a}: v=DMARC1; p=none; rua=mailto:… and tighten it once the reports are clean':
    '请在 _dmarc.{a} 发布 TXT 记录：v=DMARC1; p=none; rua=mailto:…，报告正常后再收紧',
  'the bounce address is of {a}, so only a DKIM signature of {b} passes: let your mail server sign, or set DKIM_DOMAIN':
    '退信地址属于 {a}，因此只有 {b} 的 DKIM 签名能通过：请让邮件服务器签名，或设置 DKIM_DOMAIN',
  '{a} has p={b}': '{a} 的策略是 p={b}',
  'could not be looked up from here ({a})': '从本机无法查询（{a}）',
  'look from elsewhere: dig +short TXT {a}': '请从别处查询：dig +short TXT {a}',
  'no answer': '没有应答',
  '{a} is no RSA key': '{a} 不是 RSA 私钥',
  'give an RSA key of 2048 bits: receivers check nothing else reliably':
    '请使用 2048 位的 RSA 私钥：收件方只能可靠地校验它',
  '{a} cannot be read as a private key': '{a} 无法作为私钥读取',
  'give a PEM file without a passphrase': '请使用不带口令的 PEM 文件',
  'the key under {a} could not be looked up from here ({b})': '从本机无法查询 {a} 下的公钥（{b}）',
  'there is no key under {a}': '{a} 下没有公钥',
  'publish there: v=DKIM1; k=rsa; p={a}': '请在那里发布：v=DKIM1; k=rsa; p={a}',
  'the key under {a} is another one': '{a} 下的公钥是另一个',
  'publish the public half of DKIM_KEY_FILE, or change DKIM_SELECTOR':
    '请发布 DKIM_KEY_FILE 的公钥，或更改 DKIM_SELECTOR',
  'signs for {a}; the DNS has the same key': '为 {a} 签名；DNS 中的公钥相同',

  // check: carriers
  'look at TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN or the API key, and at https://console.twilio.com':
    '请检查 TWILIO_ACCOUNT_SID、TWILIO_AUTH_TOKEN 或 API 密钥，以及 https://console.twilio.com',
  'look at ALIYUN_ACCESS_KEY_ID, ALIYUN_ACCESS_KEY_SECRET and the clock of this machine, and at https://ram.console.aliyun.com':
    '请检查 ALIYUN_ACCESS_KEY_ID、ALIYUN_ACCESS_KEY_SECRET 和本机的时钟，以及 https://ram.console.aliyun.com',
  'look at TENCENT_SECRET_ID, TENCENT_SECRET_KEY and the clock of this machine, and at https://console.cloud.tencent.com/cam':
    '请检查 TENCENT_SECRET_ID、TENCENT_SECRET_KEY 和本机的时钟，以及 https://console.cloud.tencent.com/cam',
  'the account is active': '账号状态正常',
  'the account is suspended or closed': '账号已被暂停或关闭',
  'look at https://console.twilio.com: a bill that is open, or a question of Twilio that waits for an answer':
    '请看 https://console.twilio.com：可能有未付账单，或 Twilio 在等您答复',
  'the account is {a}': '账号状态为 {a}',
  'Twilio refuses the login': 'Twilio 拒绝登录',
  'look at TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or at the API key and its secret: a token that was rotated has ended':
    '请检查 TWILIO_ACCOUNT_SID 和 TWILIO_AUTH_TOKEN，或 API 密钥及其 secret：轮换过的旧 token 已失效',
  'Twilio knows the login, and does not allow it this': 'Twilio 认可这个登录，但不允许这个操作',
  'look at the rights of the API key, at the allowed networks of the account, and that TWILIO_API_URL is of its region':
    '请检查 API 密钥的权限、账号允许的网段，以及 TWILIO_API_URL 是否属于它的区域',
  'Twilio does not know the account': 'Twilio 不认识这个账号',
  'look at TWILIO_ACCOUNT_SID, and that TWILIO_API_URL is of its region':
    '请检查 TWILIO_ACCOUNT_SID，以及 TWILIO_API_URL 是否属于它的区域',
  'Twilio is asked too often': '对 Twilio 的请求过于频繁',
  'wait a minute; then look at what else uses the account': '请等一分钟，再看还有谁在使用这个账号',
  'Twilio has a fault of its own': 'Twilio 自身有故障',
  'nothing is to be mended here: look at https://status.twilio.com, and check again later':
    '这边无需处理：请看 https://status.twilio.com，稍后再检查',
  'Twilio refuses the request (HTTP {a})': 'Twilio 拒绝请求（HTTP {a}）',
  'look at https://console.twilio.com': '请看 https://console.twilio.com',
  'Twilio reports what becomes of each SMS to {a}': 'Twilio 会把每条短信的结果回报到 {a}',
  'off: nobody will know whether an SMS reached its phone. Only an API key is set, and Twilio signs its reports with the Auth Token':
    '未开启：无法知道短信是否到达手机。只设置了 API 密钥，而 Twilio 用 Auth Token 给回执签名',
  'set TWILIO_AUTH_TOKEN beside the API key; SMS are sent with the key all the same':
    '请在 API 密钥之外再设置 TWILIO_AUTH_TOKEN；短信仍用密钥发送',
  'off: nobody will know whether an SMS reached its phone. Twilio is not told where to report':
    '未开启：无法知道短信是否到达手机。Twilio 不知道该回报到哪里',
  'set PUBLIC_URL': '请设置 PUBLIC_URL',
  'off: nobody will know whether an SMS by {a} reached its phone':
    '未开启：无法知道 {a} 发的短信是否到达手机',
  "set PUBLIC_URL, and enter the URL that `callback-courier urls` prints in {a}'s console":
    '请设置 PUBLIC_URL，并把 `callback-courier urls` 打印的 URL 填到 {a} 的控制台',
  '{a} reports what becomes of each SMS once its console has the URL that `callback-courier urls` prints':
    '把 `callback-courier urls` 打印的 URL 填到 {a} 的控制台之后，它会回报每条短信的结果',
  'the key works': '密钥可用',
  'the key works, but may not list signatures and templates': '密钥可用，但没有权限列出签名和模板',
  'no template is mapped: nothing can be sent by it': '没有映射任何模板：它什么也发不了',
  'write SMS_TEMPLATES_FILE (docs/sms.md)': '请编写 SMS_TEMPLATES_FILE（docs/zh-CN/sms.md）',
  'is under review': '审核中',
  'wait for the review, or ask the carrier': '请等待审核，或询问服务商',
  'is approved and not in force yet': '已通过，尚未生效',
  'wait until it is filed with the phone networks': '请等待运营商报备完成',
  'was refused, or is not filed with the phone networks': '被拒绝，或尚未在运营商报备',
  'look at the reason in the console': '原因见服务商的控制台',
  'was cancelled': '已撤销',
  'apply for it again, or use another one': '请重新申请，或换一个',
  "allow the key to list them, or look at the {a} signatures in use in the carrier's console":
    '请允许密钥列出它们，或在服务商的控制台查看用到的 {a} 个签名',
  "allow the key to list them, or look at the {a} templates in use in the carrier's console":
    '请允许密钥列出它们，或在服务商的控制台查看用到的 {a} 个模板',
  'cannot know whether its signatures are approved: {a}': '无法得知签名是否已通过审核：{a}',
  'cannot know whether its templates are approved: {a}': '无法得知模板是否已通过审核：{a}',
  'it answers {a} to {b}': '对 {b} 的应答是 {a}',
  'it answers HTTP {a} to {b}': '对 {b} 的应答是 HTTP {a}',
  'the account has no such signature': '账号中没有这个签名',
  'apply for it, without 【】, or correct its name': '请申请（不带【】），或更正名称',
  approved: '已通过',
  'approved, for verification codes only': '已通过，仅限验证码',
  'the account has no such template, and {a} uses it': '账号中没有这个模板，而 {a} 要用它',
  'apply for it, or correct it': '请申请，或更正',
  'it is for numbers {a}': '它用于{a}的号码',
  'map {a} {b} to another one': '请把 {a}（{b}）映射到另一个',
  'on the mainland': '大陆',
  abroad: '境外',
  'its text has the variables {a}, the mapping gives {b}': '模板正文的变量是 {a}，映射给出的是 {b}',
  none: '无',
  'make them the same for {a} in SMS_TEMPLATES_FILE': '请在 SMS_TEMPLATES_FILE 中让 {a} 的两者一致',
  'approved, for {a} on the mainland': '已通过，用于 {a}（大陆）',
  'approved, for {a} abroad': '已通过，用于 {a}（境外）',
  'cannot know them: unless you raised it, a number gets 2 SMS a day and the same text once in 30 s':
    '无法得知：如果没有调高，一个号码每天 2 条，相同内容 30 秒一条',
  "raise the frequency limits in Tencent's console, or a third code of one day is refused":
    '请在腾讯云控制台调高频率限制，否则同一天的第三个验证码会被拒绝',
  'no template for {a} in China': '{a} 没有用于中国大陆的模板',
  'no template for {a} outside China': '{a} 没有用于境外的模板',
  'no template for {a} in China in the language {b}': '{a} 没有用于中国大陆、语言为 {b} 的模板',
  'no template for {a} outside China in the language {b}': '{a} 没有用于境外、语言为 {b} 的模板',
  'its template says {a}, which the message does not have': '模板要用 {a}，而消息中没有',
  '{a} of the template is empty': '模板的 {a} 是空的',
  '{a} of the template takes {b}': '模板的 {a} 只接受 {b}',
  '{a} of the template takes {b} characters at most': '模板的 {a} 至多 {b} 个字符',
  '{a} of the template may not hold a link, a domain or an IP address':
    '模板的 {a} 不能含有链接、域名或 IP 地址',
  'parameter {a}': '参数 {a}',
  '4 to 6 digits or letters': '4 到 6 位数字或字母',
  'at most 6 digits': '至多 6 位数字',
  'it has no signature': '没有签名',
  'set {a}': '请设置 {a}',
  'the parameters of {a} must be named, as its text names them': '{a} 的参数必须按模板正文中的名字给出',
  'the parameters of template {a} must be a list, in its order': '模板 {a} 的参数必须是列表，按模板的顺序',
  'cannot be read': '无法读取',
  'is not YAML': '不是 YAML',
  'refers to itself too often': '自我引用过多',
  'the file': '文件',
  '{a} names a carrier that there is not': '{a} 写了不存在的服务商',
  '{a} names a kind that there is not': '{a} 写了不存在的类型',
  'names a carrier that there is not': '写了不存在的服务商',
  'names a kind that there is not': '写了不存在的类型',
  '{a} names a language that there is not': '{a} 写了不存在的语言',
  '{a} names a parameter that the kind does not have': '{a} 写了该类型没有的参数',
  'SMS_TEMPLATES_FILE names no templates': 'SMS_TEMPLATES_FILE 中没有模板',

  'look at {a} in SMS_GATEWAYS_FILE, and at SMS_GATEWAY_SECRETS':
    '请检查 SMS_GATEWAYS_FILE 中的 {a}，以及 SMS_GATEWAY_SECRETS',
  'its request says {a}, which the message does not have': '请求要用 {a}，而消息中没有',
  'it answers; whether the login works shows with the first SMS': '有应答；登录是否可用要到第一条短信才知道',
  'add a check': '请加上 check',
  'the login works': '登录可用',
  'must be at the same host as request/url': '必须与 request/url 在同一主机',
  'has no host that stands for itself': '没有明确的主机',
  'needs a group, as in <id>(.+?)</id>': '需要一个分组，形如 <id>(.+?)</id>',
  'is neither a JSON pointer, which begins with /, nor a regular expression':
    '既不是以 / 开头的 JSON 指针，也不是正则表达式',
  'GET has no body': 'GET 没有 body',
  'write it into the url': '请写进 url',
  'is no JSON once it is filled': '填好之后不是 JSON',
  'write "{{ text }}" for a text': '文本请写成 "{{ text }}"',
  'must be JSON such as {"my_gateway": "the-secret"}': '必须是 JSON，形如 {"my_gateway": "the-secret"}',
  'names of letters, digits and _, each with a text': '名称限字母、数字和 _，每个对应一段文本',
  '{a} needs secrets.{b} in it': '{a} 需要其中的 secrets.{b}',

  // check: clock, machine, store, templates, device alerts
  'agrees with that of {a}': '与 {a} 的一致',
  'is {a} s ahead of that of {b}': '比 {b} 的快 {a} 秒',
  'is {a} s behind that of {b}': '比 {b} 的慢 {a} 秒',
  'let the machine keep its time by NTP (timedatectl set-ntp true)':
    '请用 NTP 校时（timedatectl set-ntp true）',
  '{a} free at {b}': '{b} 处剩余 {a}',
  'callbacks are answered 503 when it is full': '写满后回调应答 503',
  'make room, or move DATABASE_URL': '请腾出空间，或改变 DATABASE_URL 的位置',
  'less than MAX_BACKLOG messages need ({a})': '少于 MAX_BACKLOG 条消息所需（{a}）',
  'make room, or lower MAX_BACKLOG': '请腾出空间，或调低 MAX_BACKLOG',
  '{a} may be open at once': '最多同时打开 {a} 个',
  'each connection takes one': '每个连接占用一个',
  'raise it to {a} or more (ulimits in compose, LimitNOFILE in systemd)':
    '请提高到 {a} 以上（compose 中的 ulimits，systemd 中的 LimitNOFILE）',
  '{a} are allowed, and a burst of callbacks takes more': '只允许 {a}，突发的回调需要更多',
  'allow it 256 MB': '请允许 256 MB',
  'holds secrets, and every user of this machine can read it': '含有密钥，而本机的所有用户都能读取',
  'the running service says that it commits': '正在运行的服务表示可以提交',
  'the running service does not accept callbacks': '正在运行的服务不接收回调',
  'look at its log': '请看它的日志',
  'opens and commits, but lacks {a} messages that it had stored':
    '可以打开并提交，但缺少曾经存入的 {a} 条消息',
  'see docs/operations.md, CallbackCourierStoreLoss':
    '见 docs/zh-CN/operations.md 的 CallbackCourierStoreLoss',
  'opens and commits': '可以打开并提交',
  'opens, but cannot commit': '可以打开，但无法提交',
  'look for a full disk or a read-only mount': '请检查磁盘是否已满，或是否只读挂载',
  '{a} will be made at the first start': '{a} 将在首次启动时创建',
  '{a} cannot be made: {b} is not writable': '无法创建 {a}：{b} 不可写',
  'make it writable for the service’s user': '请让服务的用户可以写入',
  'the store {a}': '存储 {a}',
  'the store': '存储',
  '{a} was written by a newer version of this service': '本服务的较新版本写过{a}',
  'its tables are of version {a}, programs from version {b} on may write them, and this one is of version {c}':
    '它的表是第 {a} 版，第 {b} 版及以后的程序才能写入，而本程序是第 {c} 版',
  'Start the newer one again, or restore the backup that was made before it (docs/upgrading.md)':
    '请重新启动较新的版本，或恢复在它之前的备份（docs/zh-CN/upgrading.md）',
  '{a} replicas of an older version are running, which could not write the tables of this one':
    '有 {a} 个旧版本的实例正在运行，它们无法写入本版本的表',
  'end all of them, and start this one then (docs/upgrading.md)':
    '请先结束它们全部，再启动本版本（docs/zh-CN/upgrading.md）',
  '{a} replicas are running that could not read what this one would store':
    '有 {a} 个实例正在运行，它们无法读取本进程将要存入的内容',
  'set STORE_SECRET_PREVIOUS to the new secret on each of them first, or end all of them (docs/operations.md)':
    '请先在每个实例上把新密钥写入 STORE_SECRET_PREVIOUS，或结束它们全部（docs/zh-CN/operations.md）',
  'the store {a} is in use by another process': '存储 {a} 正被另一个进程使用',
  'end that one first, or give this one a DATABASE_URL of its own (command-line tools ask the running service instead)':
    '请先结束那个进程，或给这个进程单独的 DATABASE_URL（命令行工具会改为询问正在运行的服务）',
  'the store {a} cannot be opened': '无法打开存储 {a}',
  "its directory must exist, be writable for the service's user and have room left":
    '它的目录必须存在、服务的用户可写并有剩余空间',
  'the store {a} is damaged': '存储 {a} 已损坏',
  'stop the service, keep a copy of the file and of {a}-wal, look after the disk, then restore a backup, or save what can be read with "{b}" and put that in its place':
    '请停止服务，保留该文件和 {a}-wal 的副本，检查磁盘，然后恢复备份，或用“{b}”救出可读的部分并替换',
  '{a} cannot be written': '无法写入 {a}',
  "make it and its directory writable for the service's user": '请让服务的用户可以写入它和它的目录',
  "make its directory writable for the service's user": '请让服务的用户可以写入它的目录',
  "the store's directory {a} cannot be made or written": '无法创建或写入存储的目录 {a}',
  "create it for the service's user": '请为服务的用户创建它',
  "the store's thread did not start": '存储的线程没有启动',
  '{a} messages wait in the store {b} that were stored with another secret':
    '存储 {b} 中有 {a} 条等待的消息是用另一个密钥存入的',
  "set STORE_SECRET, or restore the secret's file beside the store, to what it was, or name that one in STORE_SECRET_PREVIOUS":
    '请把 STORE_SECRET 或存储旁的密钥文件恢复为原来的，或把原来的写入 STORE_SECRET_PREVIOUS',
  'messages wait in the store that were stored with another secret': '存储中有等待的消息是用另一个密钥存入的',
  'set STORE_SECRET to what it was, the same for every replica, or name that one in STORE_SECRET_PREVIOUS':
    '请把 STORE_SECRET 恢复为原来的（每个实例相同），或把原来的写入 STORE_SECRET_PREVIOUS',
  "the store's secret {a} can be neither read nor made ({b})": '存储的密钥 {a} 既无法读取也无法创建（{b}）',
  '{a}, or set STORE_SECRET': '{a}，或设置 STORE_SECRET',
  'make room on its disk': '请在它的磁盘上腾出空间',
  "the store's secret {a} is cut short": '存储的密钥 {a} 不完整',
  'restore it from a backup, or remove it if nothing that waits in the store matters':
    '请从备份恢复；如果存储中等待的消息都不重要，也可以删除它',
  "the store's secret {a} was made and removed again": '存储的密钥 {a} 创建后又被删除',
  'start once more': '请再启动一次',
  'the database refuses our login': '数据库拒绝登录',
  'look at user and password in DATABASE_URL, and at pg_hba.conf':
    '请检查 DATABASE_URL 中的用户名和密码，以及 pg_hba.conf',
  'the database named in DATABASE_URL does not exist': 'DATABASE_URL 中的数据库不存在',
  'create it': '请创建',
  'the user of DATABASE_URL may not create tables': 'DATABASE_URL 的用户没有建表权限',
  'make it the owner of its database or schema': '请让它成为数据库或 schema 的所有者',
  'the database has no connection left': '数据库没有剩余连接',
  'a replica needs 7; raise max_connections, or end what holds them':
    '每个实例需要 7 个；请调高 max_connections，或结束占用者',
  'DATABASE_URL leads to a standby, which can only be read': 'DATABASE_URL 指向只读的备库',
  'name the primary': '请写主库',
  "the database's certificate is not trusted ({a})": '数据库的证书不被信任（{a}）',
  "add sslmode=verify-full&sslrootcert=FILE to DATABASE_URL, with its authority's certificate":
    '请在 DATABASE_URL 中加上 sslmode=verify-full&sslrootcert=FILE，写签发机构的证书',
  'the database does not speak TLS': '数据库不支持 TLS',
  'set ssl = on there, or take sslmode out of DATABASE_URL on a network of your own':
    '请在数据库设置 ssl = on；在自己的网络内也可以从 DATABASE_URL 中去掉 sslmode',
  'the database cannot be used now ({a})': '数据库目前无法使用（{a}）',
  'the database does not answer': '数据库没有应答',
  'look at host and port in DATABASE_URL, and whether it runs':
    '请检查 DATABASE_URL 中的主机和端口，以及它是否在运行',
  'the database is too old': '数据库版本太旧',
  'Postgres 15 or later is needed': '需要 Postgres 15 或更高版本',
  'the database runs with fsync off, so what it acknowledges may be lost':
    '数据库关闭了 fsync，已确认的数据也可能丢失',
  'set fsync = on': '请设置 fsync = on',
  'a pooler in front of the database lends sessions by the transaction':
    '数据库前面的连接池使用事务模式（transaction pooling）',
  'set its pool_mode to session, or name the database itself in DATABASE_URL':
    '请把它的 pool_mode 设为 session，或在 DATABASE_URL 中直接写数据库',
  'mend the file in TEMPLATES_DIR; until then the built-in words are used':
    '请修正 TEMPLATES_DIR 中的文件；在此之前使用内置文案',
  'see TEMPLATES_DIR, LOCALE and LOCALE_BY_COUNTRY': '见 TEMPLATES_DIR、LOCALE 和 LOCALE_BY_COUNTRY',
  '{a}: rendered in full for every mail, which takes longer, because of {b}':
    '{a}：每封邮件都要完整渲染，因此较慢，原因是 {b}',
  '{a} (there are {b}); built in': '{a}（现有 {b}）；内置',
  '{a} (there are {b}); built in and {c}': '{a}（现有 {b}）；内置，以及 {c}',
  '{a}, line {b}': '{a} 第 {b} 行',
  'has no words for {a}': '没有 {a} 的文案',
  'they are said in {a}': '将使用 {a}',
  'has no form for {a}': '缺少 {a} 的复数形式',
  'the file should be called by the tag of a language (BCP 47), such as de.json or zh-HK.json':
    '文件应以语言标签（BCP 47）命名，例如 de.json 或 zh-HK.json',
  'the file should be called {a}': '文件应命名为 {a}',
  'no kind of mail is called {a}': '没有名为 {a} 的邮件类型',
  'no language is called {a}': '没有名为 {a} 的语言',
  '{a} has no words for {b}, so nobody would get this': '{a} 没有 {b} 的文案，所以不会有人收到它',
  'comes out blank': '渲染结果为空白',
  'other is used': '将使用 other',
  'there are no words for {a}': '没有 {a} 的文案',
  '{a} is used': '将使用 {a}',
  'is no name of a template, so nothing reads it': '不是模板的文件名，不会被读取',
  '{a} must be the words, or the name of a kind that has them; {b} is none':
    '{a} 必须是文案，或有文案的类型名；{b} 不是',
  '/{a} needs a button; {b} has none': '/{a} 需要按钮，而 {b} 没有',
  '/{a} is not known; known are {b}': '/{a} 不是已知的项；已知的有 {b}',
  '/{a} is missing': '缺少 /{a}',
  '/{a} must not be blank': '/{a} 不能是空白',
  '/{a} must not be empty': '/{a} 不能为空',
  '/{a} must be {b}': '/{a} 必须是 {b}',
  '/{a} is wrong': '/{a} 有误',
  'unknown parameter': '未知的参数',
  'unknown variable': '未知的变量',
  'no template is called {a}': '没有名为 {a} 的模板',
  '{a} rows, {b} recipients, {c} topics': '{a} 行，{b} 个收件人，{c} 个主题',
  'docs/alerts.md shows what a row is': '一行怎么写见 docs/alerts.md',
  'the application logs in at {a}': '应用可以在 {a} 登录',
  'callback-courier ddq tail shows whether messages come': 'callback-courier ddq tail 会显示是否有消息',
  'log in at {a}: {b}': '在 {a} 登录：{b}',
  'look at DDQ_AUTH_URL, DDQ_APP_ID and DDQ_APP_SECRET': '请检查 DDQ_AUTH_URL、DDQ_APP_ID 和 DDQ_APP_SECRET',
  'ALERTS there is no row; one is: {a}': 'ALERTS 没有任何行；一行形如：{a}',
  'ALERTS line {a}': 'ALERTS 第 {a} 行',
  'ALERTS line {a}, row {b}': 'ALERTS 第 {a} 行第 {b} 条',
  'line {a}': '第 {a} 行',
  'line {a}, row {b}': '第 {a} 行第 {b} 条',
  'something is missing; a row is: {a}': '缺少内容；一行形如：{a}',
  'an attribute report says nothing about right or wrong: make an alert rule on the platform, and use alert':
    '属性上报不表示对错：请在平台上建告警规则，并使用 alert',
  'the topic must be one of {a}': '主题必须是以下之一：{a}',
  'the product must be its identifier, or * for any': '产品必须是它的标识，或用 * 表示任意',
  'the minutes must be a whole number from 0 (each time) to {a} (a week)':
    '分钟数必须是 0（每次都发）到 {a}（一周）之间的整数',
  'there are no words in that language; - means the usual one': '没有这种语言的文案；- 表示默认语言',
  'recipient {a} is empty': '第 {a} 个收件人是空的',
  'recipient {a} is an address, but e-mail is off: set EMAIL_TOKEN':
    '第 {a} 个收件人是邮件地址，但邮件未开启：请设置 EMAIL_TOKEN',
  'recipient {a} is a number, but SMS is off: set SMS_TOKEN':
    '第 {a} 个收件人是号码，但短信未开启：请设置 SMS_TOKEN',
  'recipient {a} must be an address, or a number such as +8613800138000':
    '第 {a} 个收件人必须是邮件地址，或形如 +8613800138000 的号码',
  'recipient {a} is not an address': '第 {a} 个收件人不是邮件地址',
  'recipient {a} is not a number of an allowed country (SMS_COUNTRIES, DEFAULT_AREA_CODE)':
    '第 {a} 个收件人不是允许国家的号码（SMS_COUNTRIES、DEFAULT_AREA_CODE）',
  'recipient {a} is not a mobile number': '第 {a} 个收件人不是手机号码',

  // What our own side says of an attempt
  'left alone for a while: it keeps failing, or asked for a pause': '已熔断：连续失败，或要求暂停',
  'its quota is used up': '配额已用完',
  'the quota {a} is used up': '配额 {a} 已用完',
  'cannot be rendered: {a}; look at the templates': '无法渲染：{a}；请检查模板',
  'the provider did not come back in time': '服务商没有按时返回',
  'the provider does not know yet what became of it': '服务商尚不知道结果',
  'an unexpected fault in the provider': '服务商模块出现意外故障',
  'no route leads to its country': '没有通向该国家的路由',
  'the store cannot count it now': '存储暂时无法计数',
  'no answer after the request was written': '请求写出之后没有应答',
  'HTTP {a}, and the rest of the answer was lost': 'HTTP {a}，应答的其余部分丢失',
  'HTTP {a}, but the answer cannot be read': 'HTTP {a}，但应答无法识别',
  'stopped by us': '由本服务中止',
  'its validity is over': '有效期已过',
  'the answer took too long': '应答太慢',
  'the server offers no TLS, without which nothing is sent': '服务器不提供 TLS，没有 TLS 就不发送',
  'no SMTP reply': '没有 SMTP 应答',
  'no reply after the end of the message': '消息写完之后没有应答',
  "the server's certificate was not accepted": '不接受服务器的证书',
  'the provider was closed': '服务商连接已关闭',
  'connecting, greeting and login took too long': '连接、问候和登录太慢',
  'no reply to a command within its limit': '命令在时限内没有应答',
  'the dialogue before the end of the message took too long': '消息写完之前的对话太慢',
  'no reply to the message within its limit': '消息在时限内没有应答',
  'the mail server does not offer XOAUTH2, which a login with an access token needs':
    '邮件服务器不提供 XOAUTH2，用 access token 登录需要它',
  'the mail server does not offer SMTPUTF8, which an address beyond ASCII needs':
    '邮件服务器不提供 SMTPUTF8，非 ASCII 地址需要它',
  'accepted, {a}': '已接受，{a}',
  'accepted, but the answer names no message': '已接受，但应答没有写明是哪条消息',
  'of no known status': '状态不明',
  'no reason was given': '没有给出原因',
  'found in the list of messages, {a}': '在消息列表中找到，{a}',
  'the account redacts its messages, so the list does not tell': '账号隐藏了消息内容，列表无法说明',
  'too many messages to this number': '发给这个号码的消息太多',
  'not in the list of messages: it was never taken': '不在消息列表中：从未被接收',
  'not among the sent ones, which may come late': '不在已发送之列，也可能晚些才出现',
  'its state is not known': '状态不明',
  'found among the sent ones, {a}': '在已发送之列，{a}',
  'waiting for the carrier': '等待运营商',
  'not delivered': '未送达',
  'found among the reports, {a}': '在回执中找到，{a}',
  'the reports name no message: ask Tencent to open SessionContext for the account':
    '回执没有写明是哪条消息：请联系腾讯云为账号开通 SessionContext',
  'no report yet, which may come late': '还没有回执，也可能晚些才来',
}
