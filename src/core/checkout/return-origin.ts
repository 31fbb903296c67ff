// The rules for return addresses. Registering one: sandbox/checkout/return-origins.ts.
import type { Checkout } from "./checkout.ts";
import type { Words } from "../language.ts";
import { LOOPBACK_NAMES, PORT_PATTERN } from "../loopback.ts";
import { accept, refuse, refuseValue, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";

/** A return address of a store: an origin (decision 19), and a path on it (decision 88). */
export type ReturnOrigin = { readonly origin: string; readonly path: string };

export const ROOT_PATH = "/";

/** Maximum length of a path, in characters. */
const MAX_PATH_CHARACTERS = 256;
/** Length of `https://` and the longest possible DNS name. */
const MAX_ORIGIN_CHARACTERS = 261;
const MAX_HOST_CHARACTERS = 253;
const MAX_PORT = 65_535;

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";

/** The JSON Schema of an origin that `parseReturnOrigin` accepts. */
export const RETURN_ORIGIN_SCHEMA = {
  maxLength: MAX_ORIGIN_CHARACTERS,
  anyOf: [
    { pattern: `^https?://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::${PORT_PATTERN})?$` },
    {
      pattern: `^https://(?:${LABEL}\\.)+${LABEL}(?::${PORT_PATTERN})?$`,
      not: {
        anyOf: [
          { pattern: `^https://[^:]{${MAX_HOST_CHARACTERS + 1}}` },
          { pattern: "[/.]xn--" },
          { pattern: "\\.(?:\\d+|0x[0-9a-f]*)(?::\\d+)?$" },
        ],
      },
    },
  ],
  not: { pattern: "^(?:https:.*:443|http:.*:80)$" },
};

/** The JSON Schema of a path that `parseReturnPath` accepts. */
export const RETURN_PATH_SCHEMA = {
  maxLength: MAX_PATH_CHARACTERS,
  pattern: "^/(?:[!$-.0-;=@-\\[\\]_a-z|~][!$-;=@-\\[\\]_a-z|~]*)?$",
  not: { pattern: "/(?:\\.|%2[eE]){1,2}(?:/|$)" },
};

/** Hosts that may use plain HTTP: their traffic does not leave this machine. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(LOOPBACK_NAMES);
const DEFAULT_PORTS = { http: "80", https: "443" } as const;
const EXAMPLE: Words = [
  "for example https://shop.example, or http://localhost:3000 for this machine",
  "例如 https://shop.example，本机用 http://localhost:3000",
];

const PARTS = /^(https?):\/\/([^/?#]*)(.*)$/i;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
/** Browsers read a host as an IPv4 address if its last part is a number. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)$/;

/** A forbidden part of an origin or a path, and the rule that it breaks. */
type Fault = readonly [held: RegExp, rule: Words];

const TEXT_FAULTS: readonly Fault[] = [
  [/[\s\p{Cc}]/u, ["contain no space, line break or control character", "不得含空白、换行或控制字符"]],
  [
    /[^\x21-\x7e]/,
    [
      "be plain ASCII: other letters can look the same as ASCII letters",
      "必须是纯 ASCII：其他字母与形近字母难以区分",
    ],
  ],
  [/\\/, ["contain no backslash: browsers read it as a slash", "不得含反斜杠：浏览器会当作斜杠"]],
  [/\*/, ["name one host, without a wildcard", "必须指明一个主机，不能用通配符"]],
  [
    /^null$/,
    [
      "be an address: browsers send null for pages without an origin",
      "必须是地址：null 是浏览器对无来源页面发送的值",
    ],
  ],
];

const PATH_FAULTS: readonly Fault[] = [
  [/[\s\p{Cc}]/u, ["contain no space, line break or control character", "不得含空白、换行或控制字符"]],
  [
    /[^\x21-\x7e]/,
    ["be plain ASCII, with other characters percent-encoded", "必须是纯 ASCII，其他字符用百分号编码"],
  ],
  [/\\/, ["contain no backslash: browsers read it as a slash", "不得含反斜杠：浏览器会当作斜杠"]],
  [/^[^/]|^$/, ["begin with a slash", "必须以斜杠开头"]],
  [/^\/\//, ["begin with one slash: two begin a host", "必须只以一个斜杠开头：两个斜杠之后是主机"]],
  [
    /\?/,
    ["have no query: order_id and session_id are added", "不得含查询参数：会自动加上 order_id 和 session_id"],
  ],
  [/#/, ["have no fragment", "不得含片段"]],
];

const LABEL_FAULTS: readonly Fault[] = [
  [/^$/, ["have no empty part between the dots of its host", "主机名的点之间不得为空"]],
  [/^.{64}/, ["have at most 63 characters between the dots of its host", "主机名的点之间至多 63 个字符"]],
  [/%/, ["have a host without percent-encoding", "主机名不得用百分号编码"]],
  [
    /^-|-$|[^a-z0-9-]/,
    ["have a host of letters, digits and inner hyphens", "主机名只能含字母、数字和中间的连字符"],
  ],
  [
    /^xn--/,
    [
      "have a host without xn--: the letters that it encodes can look like other letters",
      "主机名不得含 xn--：它代表的字母与形近字母难以区分",
    ],
  ],
];

/** https with a name, or http on this machine, as browsers write it (decision 19); else `invalid_parameter`. */
export function parseReturnOrigin(text: string): Outcome<string> {
  const rule = brokenRule(text);
  if (rule === undefined) return accept(text);
  const got = printableLiteral(removeUser(text));
  const meant = guessOrigin(text);
  const [instead, chinese] = meant === undefined ? EXAMPLE : [meant, meant];
  return refuse("invalid_parameter", [
    `a return origin must ${rule[0]}; got ${got}; write ${instead}`,
    `返回地址${rule[1]}；收到 ${got}；请写 ${chinese}`,
  ]);
}

/** Exactly as browsers write it (decision 88). Refuses with `invalid_parameter`. */
export function parseReturnPath(text: string): Outcome<string> {
  const rule =
    text.length > MAX_PATH_CHARACTERS
      ? [`have at most ${MAX_PATH_CHARACTERS} characters`, `至多 ${MAX_PATH_CHARACTERS} 个字符`]
      : (firstRule(PATH_FAULTS, [text]) ?? spellingRule(text));
  if (rule === undefined) return accept(text);
  return refuseValue([`a return path must ${rule[0]}`, `返回路径${rule[1]}`], text);
}

/** The path in a refused origin; undefined for the root, or if the text is ambiguous. */
export function guessPath(text: string): string | undefined {
  const path = guessOrigin(text) === undefined ? ROOT_PATH : new URL(text).pathname;
  return path !== ROOT_PATH && parseReturnPath(path).ok ? path : undefined;
}

/** The return address without the ids; the root path is omitted. */
export function formatReturnOrigin({ origin, path }: ReturnOrigin): string {
  return `${origin}${path === ROOT_PATH ? "" : path}`;
}

/** The origin that the user probably meant by a refused text; undefined if the text is ambiguous. */
export function guessOrigin(text: string): string | undefined {
  const isDoubtful = /[@\\%]|[^\x21-\x7e]/.test(text);
  const origin = isDoubtful ? undefined : originOf(text);
  return origin !== undefined && brokenRule(origin) === undefined ? origin : undefined;
}

/** Never contains a status, because a browser's return proves nothing (decision 19). */
export function returnAddress(
  { origin, path }: ReturnOrigin,
  checkout: Pick<Checkout, "orderId" | "id">,
): string {
  return returnUrl(`${origin}${path}`, checkout);
}

/** The return address for a page of the merchant, which may have a query but no fragment. */
export function returnUrl(page: string, { orderId, id }: Pick<Checkout, "orderId" | "id">): string {
  const query = `order_id=${encodeURIComponent(orderId)}&session_id=${encodeURIComponent(id)}`;
  return `${page}${page.includes("?") ? "&" : "?"}${query}`;
}

/** The first rule that a text breaks: first the rules for the whole text, then the rules for its parts. */
function brokenRule(text: string): Words | undefined {
  if (text.length > MAX_ORIGIN_CHARACTERS)
    return [`have at most ${MAX_ORIGIN_CHARACTERS} characters`, `至多 ${MAX_ORIGIN_CHARACTERS} 个字符`];
  const fault = firstRule(TEXT_FAULTS, [text]);
  if (fault !== undefined) return fault;
  const [, scheme = "", authority = "", rest = ""] = PARTS.exec(text) ?? [];
  if (scheme === "")
    return [
      "begin with https://, or with http:// for this machine",
      "必须以 https:// 开头；本机可用 http://",
    ];
  if (authority.includes("@")) return ["contain no user name or password", "不得含用户名和密码"];
  const [, host = "", port] = HOST_AND_PORT.exec(authority) ?? [];
  if (host === "") return ["name a host", "必须指明主机"];
  if (rest !== "") return restRule(rest);
  if (text !== text.toLowerCase()) return ["be in lower case", "必须为小写"];
  const broken = hostRule(host) ?? portRule(port, scheme === "http" ? "http" : "https");
  if (broken !== undefined) return broken;
  if (scheme === "http" && !LOOPBACK_HOSTS.has(host)) {
    return [
      `begin with https://: http:// is only for this machine, as ${[...LOOPBACK_HOSTS].join(", ")}`,
      `必须以 https:// 开头：http:// 只用于本机，即 ${[...LOOPBACK_HOSTS].join("、")}`,
    ];
  }
  // This check alone is the rule; the checks above only name a more precise reason.
  return originOf(text) === text ? undefined : ["be written as browsers write it", "必须按浏览器的写法"];
}

/** A rule that a browser would enforce by rewriting the path, for example because of dot segments. */
function spellingRule(path: string): Words | undefined {
  const { pathname } = new URL(path, "https://shop.example");
  return pathname === path
    ? undefined
    : [`be written as browsers write it: ${pathname}`, `必须按浏览器的写法：${pathname}`];
}

function restRule(rest: string): Words {
  if (rest === "/") return ["end without a slash", "结尾不得有斜杠"];
  if (rest.startsWith("/")) return ["end before the path", "不得含路径"];
  return rest.startsWith("?") ? ["have no query", "不得含查询参数"] : ["have no fragment", "不得含片段"];
}

function hostRule(host: string): Words | undefined {
  if (LOOPBACK_HOSTS.has(host)) return undefined;
  if (host.startsWith("["))
    return [
      "have a name as its host: [::1] is the only IPv6 address that is accepted",
      "主机必须是名称：IPv6 地址只接受 [::1]",
    ];
  if (host.length > MAX_HOST_CHARACTERS)
    return [
      `have a host of at most ${MAX_HOST_CHARACTERS} characters`,
      `主机名至多 ${MAX_HOST_CHARACTERS} 个字符`,
    ];
  if (host.endsWith(".")) return ["have a host without a dot at its end", "主机名结尾不得有点"];
  const labels = host.split(".");
  const fault = firstRule(LABEL_FAULTS, labels);
  if (fault !== undefined) return fault;
  if (ENDS_IN_NUMBER.test(host)) {
    return originOf(`https://${host}`) === `https://${host}`
      ? [
          "have a name as its host: 127.0.0.1 is the only IPv4 address that is accepted",
          "主机必须是名称：IPv4 地址只接受 127.0.0.1",
        ]
      : [
          "have a host that does not end in a number: browsers turn such a host into another address",
          "主机名不得以数字结尾：浏览器会把它变成另一个地址",
        ];
  }
  return labels.length === 1
    ? ["have a host with a dot in it, or localhost", "主机名必须含点，或为 localhost"]
    : undefined;
}

function portRule(port: string | undefined, scheme: keyof typeof DEFAULT_PORTS): Words | undefined {
  if (port === undefined) return undefined;
  if (port === "") return ["have a port after its colon, or no colon", "冒号后必须有端口，或去掉冒号"];
  if (!/^\d+$/.test(port)) return ["have a port that contains only digits", "端口只能是数字"];
  if (Number(port) < 1 || Number(port) > MAX_PORT)
    return [`have a port from 1 to ${MAX_PORT}`, `端口必须在 1 到 ${MAX_PORT} 之间`];
  if (port.startsWith("0")) return ["have a port without leading zeros", "端口不得以零开头"];
  return port === DEFAULT_PORTS[scheme]
    ? [`leave out ${port}, the default port of ${scheme}`, `请省略 ${port}，它就是 ${scheme} 的默认端口`]
    : undefined;
}

function firstRule(faults: readonly Fault[], texts: readonly string[]): Words | undefined {
  return faults.find(([held]) => texts.some((text) => held.test(text)))?.[1];
}

function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

function removeUser(text: string): string {
  const at = text.lastIndexOf("@");
  return at === -1 ? text : `…${text.slice(at)}`;
}

const OFFERED_RETURN: readonly number[] = [19];
const OFFERED_PATH: readonly number[] = [19, 88];

/** The decisions that a payer's page relies on if it links back to the merchant. */
export function decisionsOfReturn({ path }: ReturnOrigin): readonly number[] {
  return path === ROOT_PATH ? OFFERED_RETURN : OFFERED_PATH;
}
