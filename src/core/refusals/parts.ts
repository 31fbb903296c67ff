const FOREIGN_STORE = [
  "came with a snapshot of another sandbox; to deliver its events: checkout snapshots restore <name> --trust --adopt, or checkout sandbox start --adopt",
  "来自另一个沙箱的快照；要推送其事件：checkout snapshots restore <name> --trust --adopt，或 checkout sandbox start --adopt",
] as const;

export const HOLD_TEXTS = {
  other_folder: [
    "this state belongs to {folder}; to adopt it in this folder: {start} --adopt",
    "此状态属于 {folder}；要在本文件夹中采用此状态：{start} --adopt",
  ],
  unknown_folder: [
    "this state belongs to an unknown folder; to adopt it in this folder: {start} --adopt",
    "此状态属于未知的文件夹；要在本文件夹中采用此状态：{start} --adopt",
  ],
  this_foreign_store: [`this store ${FOREIGN_STORE[0]}`, `本商店${FOREIGN_STORE[1]}`],
  foreign_store: [`store {store} ${FOREIGN_STORE[0]}`, `商店 {store} ${FOREIGN_STORE[1]}`],
  foreign_stores: [`each of {count} stores ${FOREIGN_STORE[0]}`, `{count} 个商店均${FOREIGN_STORE[1]}`],
} as const;

export const ENDPOINT_REASONS = {
  switched_off: ["it was switched off", "已手动停用"],
  removed: ["it was removed", "已移除"],
  gone: ["it answered 410 Gone", "接收端返回了 410 Gone"],
  no_success: ["no delivery succeeded for 120 hours", "120 小时内所有推送均未成功"],
  listener_disconnected: ["its listener went away", "监听程序已断开"],
  by_request: ["it was paused by request", "已手动暂停"],
  drill: [
    "checkout checklist run {value} holds its events back",
    "checkout checklist run {value} 暂缓推送其事件",
  ],
} as const;

const RETURN_RULES = {
  no_space: ["contain no space, line break or control character", "不得含空格、换行或控制字符"],
  plain_ascii: [
    "be plain ASCII: other letters can look the same as ASCII letters",
    "必须是纯 ASCII：其他字母可能与 ASCII 字母形状相同",
  ],
  encoded_ascii: [
    "be plain ASCII, with other characters percent-encoded",
    "必须是纯 ASCII，其他字符用百分号编码",
  ],
  no_backslash: ["contain no backslash: browsers read it as a slash", "不得含反斜杠：浏览器会当作斜杠"],
  no_wildcard: ["name one host, without a wildcard", "必须指明一个主机，不能用通配符"],
  not_null: [
    "be an address: browsers send null for pages without an origin",
    "必须是地址：对没有来源的页面，浏览器发送 null",
  ],
  leading_slash: ["begin with a slash", "必须以斜杠开头"],
  one_slash: ["begin with one slash: two slashes begin a host", "只能以一个斜杠开头：两个斜杠后是主机"],
  path_without_query: [
    "have no query: order_id and session_id are added",
    "不得含查询参数：会自动加上 order_id 和 session_id",
  ],
  no_fragment: ["have no fragment", "不得含片段"],
  lower_case: ["be in lower case", "必须为小写"],
  with_scheme: [
    "begin with https://, or with http:// for this machine",
    "必须以 https:// 开头；本机可用 http://",
  ],
  https_elsewhere: [
    "begin with https://: http:// is only for this machine, as {hosts}",
    "必须以 https:// 开头：http:// 只用于本机，即 {hosts}",
  ],
  no_user: ["contain no user name or password", "不得含用户名和密码"],
  named_host: ["name a host", "必须指明主机"],
  as_browsers_write: ["be written as browsers write it", "必须写成浏览器所用的形式"],
  path_as_browsers_write: ["be written as browsers write it: {path}", "必须写成浏览器所用的形式：{path}"],
  length: ["have at most {most} characters", "至多 {most} 个字符"],
  no_slash_at_end: ["end without a slash", "结尾不得有斜杠"],
  no_path: ["have no path", "不得含路径"],
  no_query: ["have no query", "不得含查询参数"],
  no_empty_label: ["have no empty part between the dots of its host", "主机名的点之间不得为空"],
  label_length: ["have at most 63 characters between the dots of its host", "主机名的点之间至多 63 个字符"],
  no_percent_in_host: ["have a host without percent-encoding", "主机名不得用百分号编码"],
  host_characters: [
    "have a host of letters, digits and inner hyphens",
    "主机名只能含字母、数字和中间的连字符",
  ],
  no_punycode: [
    "have a host without xn--: the letters that it encodes can look like other letters",
    "主机名不得含 xn--：它编码的字母可能与其他字母形状相似",
  ],
  no_ipv6: [
    "have a name as its host: [::1] is the only IPv6 address that is accepted",
    "主机必须是名称：IPv6 地址只接受 [::1]",
  ],
  no_ipv4: [
    "have a name as its host: 127.0.0.1 is the only IPv4 address that is accepted",
    "主机必须是名称：IPv4 地址只接受 127.0.0.1",
  ],
  no_number_at_end: [
    "have a host that does not end in a number: browsers turn such a host into another address",
    "主机名不得以数字结尾：浏览器会把它变成另一个地址",
  ],
  host_length: ["have a host of at most {most} characters", "主机名至多 {most} 个字符"],
  no_dot_at_end: ["have a host without a dot at its end", "主机名结尾不得有点"],
  dotted_host: ["have a host with a dot in it, or localhost", "主机名必须含点，或为 localhost"],
  port_or_no_colon: ["have a port after its colon, or no colon", "冒号后必须有端口，或去掉冒号"],
  port_digits: ["have a port that contains only digits", "端口只能是数字"],
  port_range: ["have a port from 1 to {most}", "端口必须在 1 到 {most} 之间"],
  port_without_zeros: ["have a port without leading zeros", "端口不得以零开头"],
  no_default_port: [
    "leave out {port}, the default port of {scheme}",
    "请省略 {port}，它就是 {scheme} 的默认端口",
  ],
} as const;

export const PART_TEXTS = {
  ...HOLD_TEXTS,
  ...ENDPOINT_REASONS,
  ...RETURN_RULES,
  example_origin: [
    "for example https://shop.example, or http://localhost:3000 for this machine",
    "https://shop.example 之类的地址，本机用 http://localhost:3000",
  ],
  role_viewer: ["viewer", "只读"],
  role_store: ["store", "商店"],
  role_owner: ["owner", "所有者"],
  role_administrator: ["administrator", "管理员"],
  hosted_snapshots: ["snapshots", "快照"],
  hosted_configuration: ["configuration of all stores", "全部商店的配置"],
  hosted_portal: ["portal", "控制台"],
  hosted_process: ["operation to stop it", "停止操作"],
  span_or_moment: ["a duration such as 10m, or an ISO 8601 time", "时长（如 10m）或 ISO 8601 时间"],
  probability: ["a number from 0 to 1, such as 0.25", " 0 到 1 之间的数，如 0.25"],
  whole_number: ["a whole number", "整数"],
  whole_amount: ["a whole number from 1 to {most}", " 1 到 {most} 的整数"],
  amount_in_minor_units: [
    "a whole number from 1 to {most}, in minor units: {amount} is {meant}",
    " 1 到 {most} 的整数，以最小货币单位计：{amount} 即 {meant}",
  ],
  amount_with_decimals: [
    "a whole number from 1 to {most}, in minor units: {currency} has {places} decimals",
    " 1 到 {most} 的整数，以最小货币单位计：{currency} 有 {places} 位小数",
  ],
  amount_without_decimals: [
    "a whole number from 1 to {most}, in minor units: {currency} has no decimals",
    " 1 到 {most} 的整数，以最小货币单位计：{currency} 没有小数",
  ],
  issue_type: ["{said}", "类型应为 {expected}"],
  issue_value: ["{said}", "应为 {values}"],
  issue_too_small: ["{said}", "不得小于 {least}{unit}"],
  issue_too_big: ["{said}", "不得大于 {most}{unit}"],
  issue_pattern: ["{said}", "格式不正确"],
  issue_format: ["{said}", "格式应为 {format}"],
  issue_unknown_keys: ["{said}", "没有名为 {keys} 的字段"],
  issue_own: ["{said}", "{chinese}"],
  unit_characters: [" characters", " 个字符"],
  unit_items: [" items", " 项"],
  allowed_fields: ["; allowed: {names}", "；可用字段：{names}"],
  too_large: ["the file is larger than 2 GiB, the maximum for a snapshot", "文件超过快照的上限 2 GiB"],
} as const;

export type PartName = keyof typeof PART_TEXTS;
