import type { Texts } from "../../../../web/html.ts";

export const REQUEST_TEXTS = {
  curl: ["Send it again", "再次发送"],
  curlHint: ["checkout env prints both variables.", "运行 checkout env 可得到这两个变量。"],
  notExact: [
    "In the log, … replaces secrets and the end of long bodies: insert your own values.",
    "日志中的密钥以 … 代替，过长的请求体也以 … 结尾：请填入自己的值。",
  ],
  noCurl: [
    "This request cannot be written as a command line: its path or a header contains NUL, or ends with a line break.",
    "该请求的路径或请求头含有 NUL 字符或以换行结尾，无法写成命令行。",
  ],
  valuesOnly: [
    "Headers and bytes are stored only for refused requests. This request was reconstructed from the accepted values. With the same idempotency key, the answer is the same as before; for a new order, use a new key and order_id.",
    "只有被拒绝的请求会保留请求头和原始字节。此请求由已接受的值还原：幂等键不变，响应就与之前相同；要创建新订单，请换用新的幂等键和订单号。",
  ],
  notKept: [
    "Headers and bytes are stored only for refused requests.",
    "只有被拒绝的请求会保留请求头和原始字节。",
  ],
  notAnswered: ["There was no answer: the fault closed the connection.", "没有响应：故障切断了连接。"],
  requests: ["v1 requests", "v1 请求"],
  pathBegins: ["Path begins with", "路径开头"],
  byDrill: ["drill", "演练"],
  duration: ["Duration", "耗时"],
  search: ["Order, code or request id", "订单、错误码或请求 ID"],
  searchOlder: ["Search older requests", "继续查找更早的请求"],
  noRequests: [
    "Each v1 request of your program will appear here, newest first, with its answer.",
    "您的程序发往 v1 的每个请求及其响应都会显示在此处，新的在前。",
  ],
  searchedCount: (count: number) => [
    `${count} requests were searched; no others match.`,
    `已查找 ${count} 个请求，没有其他符合条件的。`,
  ],
  why: ["Why", "原因"],
  checks: ["Checks in order", "依次进行的检查"],
  passed: ["passed", "通过"],
  refusedHere: ["refused here", "在此被拒绝"],
  notReached: ["not reached", "未检查"],
  rule: ["Rule of the interface", "接口规则"],
  ruleNumber: (number: number) => [`interface ${number}`, `第 ${number} 条`],
  decisionNumber: (number: number) => [`decision ${number}`, `约定 ${number}`],
  differences: ["Differences from the first request", "与第一个请求的差异"],
  field: ["Field", "字段"],
  first: ["First request", "第一个请求"],
  now: ["This request", "本次请求"],
  absent: ["missing", "缺失"],
  exchange: ["Request and answer", "请求与响应"],
  requestTitle: (method: string, path: string) => [`${method} ${path}`, `${method} ${path}`],
} satisfies Texts;
