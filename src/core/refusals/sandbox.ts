const CONTROL_TOKEN_TEXT =
  "the control API requires Authorization: Bearer <token>, with the control token in .checkout/run.json, or for actions of the administrator the admin token in .checkout/admin.json; a token of a store may have expired or been revoked";

export const SANDBOX_REFUSALS = {
  invalid_request: {
    file_name: "must be the path of a file, of 1 to {most} characters",
    unreadable_target: "exactly one Host and a target that is a path were expected",
  },
  invalid_parameter: {
    fault_form: [
      "expected an action with its match, or a profile with an optional seed",
      "应给出一种故障类型及其范围，或一个预设（可附随机种子）",
    ],
    fault_of_requests: [
      "{action} is for requests of v1, which are matched by {names}, order_id, nth and probability",
      "{action} 用于 v1 的请求，可用 {names}、order_id、nth 和 probability 筛选",
    ],
    fault_of_deliveries: [
      "{action} is for deliveries, which are matched by {names}, order_id, nth and probability",
      "{action} 用于推送，可用 {names}、order_id、nth 和 probability 筛选",
    ],
    fault_parameter: [
      "applies only to {actions}; got this field with {action}",
      "仅适用于 {actions}；收到的故障类型为 {action}",
    ],
    fault_path: [
      "expected a path of v1 such as /v1/orders or /v1/checkout-sessions/*; got {received}",
      "应为 v1 的路径，如 /v1/orders 或 /v1/checkout-sessions/*；收到 {received}",
    ],
    fault_latency: [
      "expected at most {most} for an answer; got {received}",
      "响应最多延迟 {most}；收到 {received}",
    ],
    until_past: ["expected a time after {now}, the store's current time", "应晚于商店时钟的当前时间 {now}"],
    duration_form: [
      "expected a duration such as 31m, 2h or 45s; got {received}",
      "应为时长，如 31m、2h 或 45s；收到 {received}",
    ],
    moment_form: [
      "expected a time such as 2026-01-15T12:00:00Z; got {received}",
      "应为时间，如 2026-01-15T12:00:00Z；收到 {received}",
    ],
    status_form: [
      "status must have the form 404 or 4xx; got {received}",
      "status 形如 404 或 4xx；收到 {received}",
    ],
    list_position: [
      "before must be a position in this list, a whole number; got {received}",
      "before 应为此列表中的位置（整数）；收到 {received}",
    ],
    field_form: ["expected {form}; got {received}", "应为{form}；收到 {received}"],
    request_field: ["{why}{known}; got {received}", "{why}{known}；收到 {received}"],
    listen_address:
      "Expected an IP address of this machine without a port, such as 0.0.0.0 or 127.0.0.2; got {received}",
    no_dialect: "a dialect is a JSON object; got {received}",
    dialect_field: "{at}: {why}; got {received}",
    repeated_name: "appears twice in this list",
    repeated_key: "is the same API key as another in the file",
    merchant_name_differs: "differs from the name of this merchant above",
    shared_variable: "has the same variable as {other}, {variable}; rename one of the two targets",
    plain_http_target:
      "must begin with https: an API key is sent over plain http only to this machine (127.0.0.1, localhost, [::1])",
    public_url_form: "expected an http or https URL without user name and password",
    public_url_path: "expected no path, query or fragment, because the pages are at the root of their host",
    host_of_portal: "localhost belongs to the portal; write {instead}",
    host_of_payment_pages: "{host} belongs to the payment pages; write {instead}",
    host_without_browser: "{host} is not an address that a browser can open; use the address in the browser",
    command_with_id:
      'Expected a command that reads the id from its environment, because a shell would run what an id contains; got {received}. Write "${variable}" in place of {placeholder}',
    snapshot_no_bytes: "the snapshot must be a Uint8Array, as snapshot() returns it",
    query_twice: "{parameter} may appear only once in the query; got it more than once",
    before_and_newer: [
      "before continues with older entries, and {newer} asks for newer ones; leave one of them out",
      "before 用于继续查看更早的记录，{newer} 用于更新的记录；请去掉其中一个",
    ],
    store_name_differs: [
      "expected the name of the store, {wanted}; got {received}; nothing was changed",
      "应为商店名称 {wanted}；收到 {received}；未作任何更改",
    ],
    clock_years: ["a clock can show only the years 0 to 9999", "时钟只能在公元 0 至 9999 年之间"],
    snapshot_unfit: ["the snapshot cannot be restored: {reason}", "无法恢复快照：{reason}"],
    form_field_twice: "the form must have the field {field} only once",
  },
  not_found: {
    no_merchant: ["there is no merchant {merchant}", "商户 {merchant} 不存在"],
    no_store: ["there is no store {store}", "商店 {store} 不存在"],
    no_store_yet: ["there is no store yet", "还没有商店"],
    no_object_here: "no object in this sandbox has the id {object}",
    no_object_in_store: "no object in this store has the id {object}",
    no_fault: ["there is no fault {id}", "故障 {id} 不存在"],
    no_store_at_all: ["this sandbox has no store", "本沙箱没有商店"],
    lease_ended:
      "lease {lease} has ended: its command lost the connection or took too long, or the sandbox was restarted",
    no_key: ["there is no API key {id}", "API 密钥 {id} 不存在"],
    no_token: ["there is no token, link or session {id}", "令牌、链接或登录会话 {id} 不存在"],
    nothing_to_explain: "this store has no {what} {received}",
    nothing_to_explain_in_log: "this store has no {what} {received}; {failure}",
    no_checkout_of: "this store has no checkout for the {what} {received}",
    no_checkout_for: "this store has no checkout for {received}",
    request_not_logged: [
      "the request log of this store has no request {request}; the log keeps only the newest requests",
      "本商店的请求日志中没有请求 {request}；日志只保留最新的请求",
    ],
    request_log_failed: [
      "the request log of this store has no request {request}; {failure}",
      "本商店的请求日志中没有请求 {request}；{failure}",
    ],
    no_snapshot: ["there is no snapshot {snapshot}", "快照 {snapshot} 不存在"],
  },
  storage_unavailable: {
    starting: "the sandbox is starting; try again",
    snapshot_waits: ["a store is being reset or deleted; try again", "正在重置或删除某个商店；请重试"],
    store_erasing: "this store is being reset or deleted; try again with the same key",
  },
  state_conflict: {
    merchant_fixed:
      "the store exists and belongs to merchant {merchant}; the merchant of a store cannot change",
    secret_unreadable:
      "the master key cannot decrypt the signing secret of the existing store, so it cannot be compared; restore master.key and sandbox.db from the same backup, or delete the store first",
    secret_fixed:
      "the store exists with another signing secret; a signing secret is set only when the store is created",
    key_revoked: "this API key was revoked; use another key",
    key_of_other_store: "this API key belongs to store {store}; use another key",
    list_too_long:
      "a store may have at most {most}, but would have {count} with the items that are not in the file; --prune removes them",
    too_many_stores_for_file:
      "a checkout.config.json may have at most {most} stores, but this sandbox has {count}",
    file_too_large:
      "a checkout.config.json may have at most {most} characters, but this file would have {count}",
    other_process: "the request is for process {asked}, but this is process {process}; nothing was stopped",
    too_many_faults: [
      "a store has at most {most} faults; remove some first",
      "商店至多有 {most} 个故障；请先移除一些",
    ],
    clock_was_moved: [
      "the clock of the store was moved; set it to real time first",
      "商店时钟已被调整；请先恢复为真实时间",
    ],
    store_has_faults: ["the store has faults; remove them first", "商店有生效中的故障；请先移除"],
    store_is_drilled: [
      "a drill or another exploration of the store is running",
      "该商店正在进行演练或另一次故障探测",
    ],
    first_store: [
      "the first store of a sandbox cannot be deleted; to delete only this store's history: checkout sandbox reset --store {store}",
      "沙箱的第一个商店不能删除；如只需清空该商店的记录：checkout sandbox reset --store {store}",
    ],
    several_stores: ["several stores have the name {name}: {stores}", "有多个商店名为 {name}：{stores}"],
    not_in_snapshot: [
      "the snapshot does not contain store {store}; it contains {stores}",
      "快照不包含商店 {store}；其中的商店：{stores}",
    ],
    snapshot_of_store: [
      "the snapshot contains only store {store}, not the whole sandbox",
      "快照只包含商店 {store}，不包含整个沙箱",
    ],
    snapshot_conflict: [
      "a store of this sandbox has the same id or key as a store in the snapshot ({reason}); nothing was changed",
      "本沙箱中某个商店的 ID 或密钥与快照中的相同（{reason}）；未作任何更改",
    ],
    snapshot_name_taken: ["this name is taken; choose another name", "此名称已被占用；请换一个名称"],
    portal_is_off: [
      "this sandbox has no portal: with --public-url, it needs --portal-url with another host name",
      "本沙箱没有控制台：使用 --public-url 时，需用 --portal-url 指定另一个主机名",
    ],
    hosted_without: ["a hosted service has no {what}", "托管服务没有{what}"],
    first_store_differs:
      "the state already has the store {store} where the first store {first} belongs: restore credentials.json and the folder objects from the same backup",
    requests_open: [
      "requests to the store are still open after {seconds} s; nothing was deleted",
      "{seconds} 秒后商店仍有未结束的请求；未删除任何内容",
    ],
  },
  credential_missing: {
    control_token_missing: CONTROL_TOKEN_TEXT,
    not_signed_in: [
      "this browser is not signed in; to sign in: checkout open",
      "此浏览器尚未登录：运行 checkout open 即可登录",
    ],
  },
  scope_missing: {
    not_administrator:
      "{operation} is an operation of the administrator: it requires the admin token in .checkout/admin.json, not the control token in run.json",
    not_of_administrator:
      "{operation} is not an operation of the administrator: it requires the control token in .checkout/run.json",
    role_too_low: [
      "{operation} needs the role {needed}; this token or session has the role {role}",
      "{operation} 需要角色“{needed}”；此令牌或登录的角色为“{role}”",
    ],
    only_own_snapshots: [
      "trust and adopt need the role owner: a store's token or session restores only snapshots of this sandbox",
      "trust 与 adopt 需要角色“所有者”：商店的令牌或登录只能恢复本沙箱的快照",
    ],
  },
  host_not_allowed: {
    portal_elsewhere: ["the portal is at {origin}/portal", "控制台位于 {origin}/portal"],
    portal_wrong_host: [
      "the portal is at {origin}/portal, not at {received}; --portal-url sets another host name",
      "控制台位于 {origin}/portal，而不在 {received}；可用 --portal-url 指定其他主机名",
    ],
  },
  origin_not_allowed: {
    form_of_other_session: [
      "the form does not contain the token of this session; reload its page",
      "表单没有本次登录的令牌；请重新加载页面",
    ],
    form_of_no_page: "only the page that shows this form may send it; got neither Sec-Fetch-Site nor Origin",
    form_of_other_page: "only the page that shows this form may send it; got {received}",
    foreign_page: "only the portal's own pages may request this; got Sec-Fetch-Site {received}",
  },
  method_not_allowed: {
    not_a_proxy: "this server is not a proxy",
  },
  unsupported_content_type: {
    form_content_type: "Content-Type must be application/x-www-form-urlencoded; got {received}",
  },
  missing_parameter: {
    store_id_missing: [
      "the id of the store is missing: only an owner can reset all stores",
      "缺少商店 ID：只有所有者可以重置全部商店",
    ],
    untrusted_snapshot: [
      "trust: another sandbox took this snapshot, or it was changed since; its endpoints, keys and rows come from its author",
      "trust：此快照由另一个沙箱创建，或之后被改动过；其中的接收端、密钥和数据均出自其作者",
    ],
  },
  credential_invalid: {
    control_token_invalid: CONTROL_TOKEN_TEXT,
    token_ended: "the token was revoked or has expired while the request waited",
    sign_in_code: [
      "this code was already used, has expired, or was never issued",
      "该登录码已使用、已过期或从未签发",
    ],
    not_admin_token: [
      "this is not the admin token; the admin token is in .checkout/admin.json",
      "这不是管理员令牌；管理员令牌在 .checkout/admin.json 中",
    ],
  },
  rate_limited: {
    wrong_tokens: ["too many wrong attempts; wait {seconds} s", "错误次数过多；请等待 {seconds} 秒"],
  },
} as const;
