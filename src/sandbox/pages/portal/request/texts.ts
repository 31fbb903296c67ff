import type { Language } from "../../../../web/language.ts";

/** The texts of the request log, in English. */
const ENGLISH = {
  requestHeaders: "Request",
  requestBody: "Body",
  answer: "Answer",
  curl: "Send it again",
  curlHint: "checkout env prints the two variables.",
  notExact: "Secrets are replaced by … in the log, and long bodies end with it: put in your own values.",
  noCurl: "No command line can hold this request: it has a NUL in it.",
  valuesOnly:
    "Headers and bytes are kept of refused requests alone. This is made of the values that were taken; put in a new key and order_id.",
  notKept: "Headers and bytes are kept of refused requests alone.",
  notAnswered: "Nothing was answered: the fault cut the connection.",
};

/** The same in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  requestHeaders: "请求",
  requestBody: "正文",
  answer: "响应",
  curl: "再次发送",
  curlHint: "运行 checkout env 可得到这两个变量。",
  notExact: "日志中的密钥以 … 代替，过长的正文也以 … 结尾：请填入自己的值。",
  noCurl: "该请求含有 NUL 字符，无法写成命令行。",
  valuesOnly: "只有被拒绝的请求会保留请求头和原始字节。此处由已接受的值拼成；请换用新的密钥和 order_id。",
  notKept: "只有被拒绝的请求会保留请求头和原始字节。",
  notAnswered: "没有任何响应：故障切断了连接。",
};

/** The texts of the request log in each language. */
export const REQUEST_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };
