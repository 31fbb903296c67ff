import type { Words } from "../../language.ts";
import { DELIVERY_CAUSES, OTHER_CAUSE } from "../../explain/delivery-sentences.ts";
import type { ConnectionFault } from "../../network/connection-fault.ts";
import type { DeliveryError } from "../../webhook/delivery.ts";
import type { DrillSentence } from "../drill-sentences.ts";

const VERIFY_RAW_ADVICE = [
  "Verify the received bytes, before any parser (express.raw, request.get_data, file_get_contents)",
  "请在解析之前对收到的原始字节验签（express.raw、request.get_data、file_get_contents）",
] as const;
const WHOLE_DIGEST_ADVICE = [
  "Compare all 64 digits, in constant time",
  "请以恒定时间比较全部 64 个字符",
] as const;
function secretCommand(endpointId: string): string {
  return `checkout endpoints secret ${endpointId}`;
}

export const RECEIVER_CAUSES = {
  takes_all: [
    "The receiver answers 2xx to everything, even to invalid requests: the answer does not depend on the verification. Verify first, and answer 400 if that fails.",
    "接收端对所有请求都返回 2xx，包括无效请求：响应与验签结果无关。请先验签，失败则返回 400。",
  ],
  no_check: [
    "The receiver does not check the signature. Verify every request first, for example with hosted-checkout/webhooks.",
    "接收端没有校验签名。请先对每个请求验签，例如使用 hosted-checkout/webhooks。",
  ],
  presence_only: [
    "The receiver only checks that there is a signature, and does not compare the signature with the computed one.",
    "接收端只检查有没有签名，没有与计算出的签名比较。",
  ],
  inverted_check: [
    "The receiver accepts requests with a wrong signature, and refuses requests with the right one: it inverts the result of its check. Refuse if the signatures differ.",
    "接收端接受签名错误的请求，却拒绝签名正确的请求：验签结果用反了。签名不一致时应拒绝。",
  ],
  skips_without_header: [
    "The receiver verifies only requests with a signature header. Refuse a request without this header, because anybody can leave it out.",
    "接收端只对带签名请求头的请求验签。没有签名头的请求必须拒绝，因为任何人都可以不带它。",
  ],
  skips_without_timestamp: [
    "The receiver verifies only requests with a timestamp header. Refuse a request without this header, because anybody can leave it out.",
    "接收端只对带时间戳请求头的请求验签。没有时间戳头的请求必须拒绝，因为任何人都可以不带它。",
  ],
  skips_without_event_id: [
    "The receiver verifies only requests with the header Checkout-Event-Id. Also verify a request without this header, because anybody can leave it out.",
    "接收端只对带 Checkout-Event-Id 请求头的请求验签。没有该请求头也必须验签，因为任何人都可以不带它。",
  ],
  skips_without_headers: [
    "The receiver verifies only requests that look like the service's, by their headers or User-Agent, and accepts the rest. Verify every request, and refuse a request without a signature.",
    "接收端只对请求头或 User-Agent 看起来来自本服务的请求验签，其余一律接受。请对每个请求验签，没有签名的一律拒绝。",
  ],
  skips_other_types: [
    "The receiver verifies only some content types, such as JSON, and accepts the rest: curl -d sends a form. Verify the raw bytes of every request, whatever its Content-Type.",
    "接收端只对部分内容类型（如 JSON）验签，其余一律接受：curl -d 发送的就是表单。无论 Content-Type 是什么，请对每个请求的原始字节验签。",
  ],
  takes_empty_signature: [
    "The receiver accepts an empty signature: an empty header, or an empty list of signatures, counts as right. Refuse an empty signature before comparing.",
    "接收端接受空签名：空的请求头或空的签名列表被当作正确。请在比较之前拒绝。",
  ],
  takes_empty_secret: [
    "The receiver accepts requests signed with an empty secret, and anybody can sign like that. An unset variable is among the receiver's secrets: leave that variable out, and do not start without a secret.",
    "接收端接受用空密钥签名的请求，而任何人都能这样签名。密钥列表里有一个未设置的变量：请将其去掉，没有密钥时不要启动。",
  ],
  takes_guessed_secret: [
    "The receiver accepts requests signed with a secret that anybody can guess: the text of an unset variable (undefined, null, None, NaN), a default, its own address, or a text of the request. Remove this secret, and do not start without the right one.",
    "接收端接受用可猜到的密钥签名的请求：未设置变量的字面文本（undefined、null、None、NaN）、默认值、接收端自己的地址或请求中的文本。请将其从密钥中去掉，没有正确的密钥时不要启动。",
  ],
  chooses_secret: [
    "The receiver chooses its secret by the livemode or the store in the body, before it verifies the body. If the chosen secret is not set, it accepts requests signed with an empty string, undefined, null, None or the like, and anybody can sign like that. Choose the secret by the address of the endpoint, and refuse the request if that endpoint has no secret.",
    "接收端在验签之前就根据请求体的内容（livemode 或商店）选择密钥；选中的密钥未设置时，会接受用空字符串、undefined、null、None 等签名的请求，而任何人都能这样签名。请按接收端的地址选择密钥，该接收端没有密钥时拒绝请求。",
  ],
  secret_unset: (id) => [
    `The receiver's secret is empty, or the text of an unset variable or a default: the receiver accepts requests that anybody can sign, and refuses requests signed by the service. Set the secret to the output of ${secretCommand(id)}, and do not start without a secret.`,
    `接收端的密钥为空，或者是未设置变量的字面文本、默认值：会接受任何人用它签名的请求，却拒绝本服务签名的请求。请设为 ${secretCommand(id)} 显示的密钥，没有密钥时不要启动。`,
  ],
  secret_spelled: (id) => [
    `The receiver has the right secret in another form: without whsec_, decoded, in quotes, or with white space. The key of the signature is the whole text, as ${secretCommand(id)} prints it.`,
    `接收端的密钥正确但形式不对：去掉了 whsec_、被解码、带引号或带空白字符。签名用的密钥是 ${secretCommand(id)} 显示的完整文本。`,
  ],
  signs_otherwise: [
    "The receiver has the right secret, but its signature is not HMAC-SHA256 over the timestamp, a dot and the raw body, in hexadecimal digits: it signs another text, uses another algorithm, or writes other digits such as base64.",
    "接收端的密钥正确，但算出的签名不是“时间戳 + 点号 + 原始请求体”的 HMAC-SHA256 十六进制值：签名文本、算法或编码（如 base64）不同。",
  ],
  wrong_secret: (id) => [
    `The receiver has a different secret from this endpoint: it refuses valid and forged events alike, but handles other mistakes differently. ${secretCommand(id)} prints the right secret. (If the secrets are equal: the receiver signs something other than timestamp, dot, raw body.)`,
    `接收端使用的不是正确的密钥：有效事件与伪造事件一样被拒绝，其他错误则处理不同。${secretCommand(id)} 会显示正确的密钥。（如果接收端使用的已是该密钥：签名的内容不是“时间戳 + 点号 + 原始请求体”。）`,
  ],
  replaced_secret: (id) => [
    `The receiver has the secret from before the last rotation, and not the new one, which ${secretCommand(id)} prints.`,
    `接收端使用的是上次轮换之前的密钥，而不是新密钥；${secretCommand(id)} 会显示新密钥。`,
  ],
  skips_orders: [
    "The receiver verifies webhook.test, but accepts forged and outdated events of orders. Verify every request alike, before looking at its type or its order.",
    "接收端对 webhook.test 验签，却接受伪造的或过旧的订单事件。请在查看类型或订单之前，对每个请求同样验签。",
  ],
  refuses_orders: [
    "The receiver accepts webhook.test, but refuses an event of an order that it accepted before. Answer 2xx to every verified event, even to a known one.",
    "接收端接受 webhook.test，却拒绝以前接受过的订单事件。对每个验签通过的事件都应返回 2xx，包括已处理过的事件。",
  ],
  verifies_sometimes: [
    "The receiver verifies only some requests: of requests with the same mistake it accepts some and refuses others. Perhaps it verifies a sample, one of several processes has no secret, or a setting disables the check.",
    "接收端只对部分请求验签：同样有问题的请求，有的接受，有的拒绝。可能是抽样验签，多个进程中有一个没有密钥，或者某个配置关闭了验签。",
  ],
  old_secret: [
    "The receiver still accepts the secret from before the last rotation, although the overlap is over. Remove that secret from the receiver's settings.",
    "接收端仍然接受上次轮换之前的密钥，尽管新旧密钥的并存期已过。请从配置中删除该密钥。",
  ],
  compares_prefix: [
    `The receiver compares only the beginning of the signature. ${WHOLE_DIGEST_ADVICE[0]}.`,
    `接收端只比较签名的开头。${WHOLE_DIGEST_ADVICE[1]}。`,
  ],
  compares_end: [
    `The receiver compares only the end of the signature. ${WHOLE_DIGEST_ADVICE[0]}.`,
    `接收端只比较签名的结尾。${WHOLE_DIGEST_ADVICE[1]}。`,
  ],
  compares_part: [
    `The receiver compares only some digits of the signature. ${WHOLE_DIGEST_ADVICE[0]}.`,
    `接收端只比较签名的部分字符。${WHOLE_DIGEST_ADVICE[1]}。`,
  ],
  one_signature: [
    `The receiver does not find the right signature among several. While secrets are rotated the header has up to three signatures, separated by commas: split it, and accept if any of them matches.`,
    "接收端在多个签名中找不到正确的那个。密钥轮换期间，请求头中最多有三个以逗号分隔的签名：请拆开，任何一个匹配即接受。",
  ],
  compares_unordered: [
    `The receiver compares which digits the signature has, and not their order: as a sum, sorted, or as a set. ${WHOLE_DIGEST_ADVICE[0]}.`,
    `接收端只比较签名含有哪些字符，不比较顺序：例如求和、排序后或作为集合比较。${WHOLE_DIGEST_ADVICE[1]}。`,
  ],
  matches_patterns: [
    `The receiver uses the signature that it received as a pattern (a regular expression, LIKE or a wildcard), and anybody can send a pattern that matches. ${WHOLE_DIGEST_ADVICE[0]}.`,
    `接收端把收到的签名当作匹配模式（正则表达式、LIKE 或通配符），任何人都能构造出可匹配的签名。${WHOLE_DIGEST_ADVICE[1]}。`,
  ],
  takes_malformed_signature: [
    "The receiver accepts a malformed signature: letters that are not hexadecimal digits, too many signatures, or a signature that is too short or too long. Perhaps it ignores an exception of its comparison, or decodes such a text to nothing, which equals the beginning of everything. Refuse a signature that is not 64 hexadecimal digits.",
    "接收端接受格式不符的签名：含非十六进制字符、过多、过短或过长。可能是比较时抛出异常后继续执行；也可能是解码后得到空值，而空值等于任何内容的开头。不是 64 位十六进制数字的一律拒绝。",
  ],
  takes_malformed_timestamp: [
    "The receiver accepts a timestamp that is not a number: compared with NaN, no age is ever too large. Refuse a timestamp that is not ten digits.",
    "接收端接受不是数字的时间戳：与 NaN 比较时，时间差永远不会过大。不是十位数字的时间戳一律拒绝。",
  ],
  reads_doubled_headers: [
    "The receiver accepts a request with two lines of a Checkout-… header: it verifies one line and uses the other. Refuse a repeated header.",
    "接收端接受同一 Checkout-… 请求头出现两次的请求：校验其中一行，却采信另一行。请求头重复时应拒绝。",
  ],
  skips_methods: [
    "The receiver verifies POST, and accepts PUT or PATCH without verifying. Verify every request on the route, or refuse other methods with 405.",
    "接收端对 POST 验签，却不验签就接受 PUT 或 PATCH。请对该路由的每个请求验签，或以 405 拒绝其他方法。",
  ],
  skips_paths: [
    "The receiver accepts forged requests with a query or a slash after the path: they reach another route, or the verification is bound to the exact text of the path. Verify every request on the route.",
    "接收端接受路径后带查询参数或斜杠的伪造请求：请求进入了另一个路由，或验签只绑定在完全相同的路径上。请对该路由的每个请求验签。",
  ],
  skips_odd_bodies: [
    "The receiver does not verify a body that is empty, a list, or not JSON, and answers 2xx. Verify the raw bytes of every body first, even of an empty one.",
    "请求体为空、是数组或不是 JSON 时，接收端不验签，直接返回 2xx。无论内容是什么（包括为空），请先对原始字节验签。",
  ],
  skips_large: [
    "The receiver does not verify larger bodies: a limit for reading or logging applies first, and the answer is 2xx. Refuse a body that is too large with 413.",
    "接收端对较大的请求体不验签：读取或记录的大小限制先起作用，并返回 2xx。过大的请求应以 413 拒绝。",
  ],
  skips_encodings: [
    "The receiver does not verify a chunked or compressed body, and answers 2xx: perhaps it relies on Content-Length. Read the whole body, and verify it.",
    "请求体分块传输或压缩时，接收端不验签，直接返回 2xx：可能依赖了 Content-Length。请读取完整的请求体再验签。",
  ],
  skips_by_sender: [
    "The receiver trusts a request because of its apparent sender: a User-Agent, Authorization or X-Forwarded-For header, which anybody can set. Verify the signature of every request.",
    "接收端仅凭请求头（User-Agent、Authorization 或 X-Forwarded-For）显示的发送方就信任请求，而这些请求头任何人都能设置。请对每个请求验签。",
  ],
  skips_by_content: [
    "The receiver reads the type, store or livemode in the body before it verifies the body, and answers 2xx. Verify every request first, and decide after that.",
    "接收端在验签之前先看请求体的内容（类型、商店或 livemode），并返回 2xx。请先对每个请求验签，然后再判断。",
  ],
  known_before_check: [
    "The receiver looks up the event before it verifies the request, and accepts a known event without verifying it: anybody can learn an event_id. Verify first.",
    "接收端在验签之前先查事件是否已知，已知则不验签直接接受：任何人都可能得知 event_id。请先验签。",
  ],
  remembers_signature: [
    "The receiver remembers that a signature was right, and does not compute it again for another body. Compute the signature of every request.",
    "接收端记住了上一次的验签结果，请求体改变后没有重新验签。请对每个请求重新计算签名并比较。",
  ],
  once_a_connection: [
    "The receiver verifies only the first request of a connection, and trusts the later ones: behind a proxy they can come from anybody. Verify every request.",
    "接收端只对连接上的第一个请求验签，之后的请求一律信任：经过代理时，这些请求可能来自任何人。请对每个请求验签。",
  ],
  compares_what_came: [
    "The receiver compares only as many digits as it received. Check the length first, then compare all 64 digits in constant time.",
    "接收端收到几个字符就只比较几个。请先检查长度，再以恒定时间比较全部 64 个字符。",
  ],
  parsed_body: [
    `The receiver parses the body, serializes it again, and verifies the result. ${VERIFY_RAW_ADVICE[0]}.`,
    `接收端在验签之前解析请求体，对重新序列化的内容验签。${VERIFY_RAW_ADVICE[1]}。`,
  ],
  decoded_body: [
    `The receiver changes the body before it verifies it: it reads an encoding other than UTF-8, trims the body, or parses and serializes it again. ${VERIFY_RAW_ADVICE[0]}.`,
    `接收端在验签之前改动了请求体：按 UTF-8 以外的编码读取、去掉首尾空白，或解析后重新序列化。${VERIFY_RAW_ADVICE[1]}。`,
  ],
  reads_first_part: [
    "The receiver refuses a body that arrives in two parts, as networks and proxies can split it: it verifies the part that came first. Read the body to its end (Content-Length), and verify all of it.",
    "请求体分两段到达时，接收端会拒绝（网络和代理会这样切分）：只校验了先到的一段。请读完整个请求体（Content-Length）再验签。",
  ],
  decodes_parts: [
    "The receiver refuses a body that was cut within a character: it decodes each part by itself, and the cut character is lost. Collect the bytes of all parts, and verify these.",
    "请求体在一个字符中间断开时，接收端会拒绝：逐段解码，断开的字符因此丢失。请先收齐所有字节，再对这些字节验签。",
  ],
  compares_header_case: [
    "The receiver refuses the same headers in capitals or in lower case: header names are case-insensitive, and proxies and HTTP/2 change their case. Find headers without regard to case.",
    "请求头名称改为全大写或全小写后，接收端就拒绝：请求头名称不区分大小写，代理和 HTTP/2 会改变大小写。请不区分大小写地查找请求头。",
  ],
  refuses_headers: [
    "The receiver refuses an event with headers that it does not know, and proxies add headers. Ignore unknown headers.",
    "接收端拒绝带有未知请求头的事件，而代理会添加请求头。请忽略未知的请求头。",
  ],
  body_not_covered: [
    `The receiver's check does not cover the body: a changed body passes with the old signature. Compute the HMAC over the timestamp, a dot and the raw body. ${VERIFY_RAW_ADVICE[0]}.`,
    `接收端的验签没有覆盖请求体：请求体改动后仍能用旧签名通过。请对“时间戳 + 点号 + 原始请求体”计算 HMAC。${VERIFY_RAW_ADVICE[1]}。`,
  ],
  no_staleness_check: [
    "The receiver does not check the age of the timestamp, so a recorded request can be sent again for ever. After the signature, check that the timestamp is within 5 minutes of the receiver's clock.",
    "接收端不检查时间戳的新旧，因此截获的请求可以无限次重放。验签之后，请检查时间戳与自己的时钟相差不超过 5 分钟。",
  ],
  takes_old: [
    "The receiver refuses timestamps in the future and accepts old ones: the difference has the wrong sign, or only one side is compared. Compare the absolute value of the difference.",
    "接收端拒绝未来的时间戳，却接受过旧的时间戳：差值的正负号写反了，或只比较了一侧。请比较差值的绝对值。",
  ],
  takes_ahead: [
    "The receiver refuses old timestamps and accepts those in the future: only one side is compared. Compare the absolute value of the difference.",
    "接收端拒绝过旧的时间戳，却接受未来的时间戳：只比较了一侧。请比较差值的绝对值。",
  ],
  wide_tolerance: [
    "The receiver accepts timestamps that are 10 minutes off, so a recorded request can be sent again for too long. Is the receiver's tolerance in the wrong unit? 5 minutes are 300 seconds.",
    "接收端接受相差 10 分钟的时间戳，因此截获的请求可以重放的时间过长。容差的单位是否有误？5 分钟等于 300 秒。",
  ],
  narrow_tolerance: [
    "The receiver refuses an event whose timestamp differs from its clock by a minute: queues and clocks alone can cause that. The receiver's tolerance is too short, in the wrong unit (300 seconds are 300000 milliseconds) or applied on one side only, or its clock is wrong.",
    "接收端拒绝时间戳与其时钟相差一分钟的事件：仅排队和时钟误差就可能达到这么多。容差过短或单位有误（300 秒等于 300000 毫秒），有一侧没有容差，或时钟不准。",
  ],
  reads_created_at: [
    "The receiver refuses an event that was created an hour ago but signed now: it checks the age of created_at. An event that was not accepted is sent again for a day, with the same created_at and a new timestamp. Check only the age of the header Checkout-Timestamp.",
    "接收端拒绝一小时前产生、刚刚签名的事件：检查的是 created_at 的新旧。未被接受的事件会在一天内重新推送，created_at 不变，时间戳是新的。请只检查 Checkout-Timestamp 请求头的新旧。",
  ],
  clock_off: [
    "The receiver's clock is wrong: the receiver refuses requests signed now, and accepts requests signed at another time. Synchronize the clock by NTP, and compare Unix seconds, which have no time zone.",
    "接收端的时钟不准：拒绝刚刚签名的请求，却接受其他时间签名的请求。请通过网络对时（NTP），并比较不含时区的 Unix 秒数。",
  ],
  believes_header: [
    "The receiver takes the id of an event from the header Checkout-Event-Id, which is not signed: it took a known event with another id in this header for a new event. Take event_id from the verified body.",
    "接收端从没有签名的 Checkout-Event-Id 请求头读取事件 ID：换一个 ID，已处理过的事件就被当作新事件。请从已验签的请求体中读取 event_id。",
  ],
  parses_first: [
    "The receiver parses the body before it verifies it: a body that is not JSON made it fail with 5xx. Verify first, and answer 400.",
    "接收端在验签之前解析请求体：请求体不是 JSON 时返回 5xx。请先验签，失败则返回 400。",
  ],
  throws_on_length: [
    "The receiver fails with 5xx if the signature has another length, because crypto.timingSafeEqual throws. Check the length first, and answer 400.",
    "签名长度不同时，接收端返回 5xx，因为 crypto.timingSafeEqual 抛出异常。请先检查长度，不符则返回 400。",
  ],
  throws_on_bad: [
    "The receiver answers 5xx when it should refuse: the refusal is an uncaught exception, and after 5xx the service retries for a day. Answer 400.",
    "接收端应当拒绝时返回 5xx：拒绝是一个未捕获的异常，而收到 5xx 后本服务会重试一天。请返回 400。",
  ],
  fails_always: [
    "The receiver answers 5xx to everything, valid or not: check its log. Perhaps the secret is not set, or the route fails before it verifies.",
    "无论请求有效与否，接收端都返回 5xx：请查看日志。可能没有设置密钥，或路由在验签之前就出错了。",
  ],
  fails_in_check: [
    "The receiver answers 5xx to valid and forged events alike, but not to every request: the verification itself fails. Check the receiver's log for the error; a signature that does not match must be answered 400.",
    "接收端对有效事件和伪造事件都返回 5xx，但并非对所有请求：验签本身出错。请查看日志中的错误；签名不匹配时应返回 400。",
  ],
  not_explained: (caseTitle, answer, otherTitle, otherAnswer) => [
    `The answers do not show the cause. Two answers that differ: ${answer} to “${caseTitle}”, ${otherAnswer} to “${otherTitle}”. Check the receiver's log for these two requests.`,
    `从响应看不出原因。两个不同的响应：对“${caseTitle}”返回 ${answer}，对“${otherTitle}”返回 ${otherAnswer}。请查看这两个请求的日志。`,
  ],
  fails_after_check: [
    "The receiver refuses invalid requests and fails with 5xx on a valid event: the code that runs after the verification throws an error. The receiver must also answer 2xx to event types that it does not know, such as webhook.test.",
    "接收端拒绝无效请求，但收到有效事件时返回 5xx：验签之后的代码出错。对不认识的事件类型（如 webhook.test）也必须返回 2xx。",
  ],
  chokes_on_bytes: [
    "The receiver fails on valid JSON in an unusual form: its JSON parser is incomplete, or expects an encoding other than UTF-8.",
    "接收端无法处理写法少见的有效 JSON：JSON 解析器不完整，或者使用的编码不是 UTF-8。",
  ],
  rejects_duplicates: [
    "The receiver refuses an event that it has already received. The same event can be delivered more than once: answer 2xx to a known event_id, and do nothing.",
    "接收端拒绝已收到过的事件。同一事件可能推送多次：对已知的 event_id 返回 2xx，不做其他处理。",
  ],
  shuts_out: [
    "The receiver accepted valid events at first, but none after the invalid requests: it blocks the sender because of these requests, or has a defect. Forged requests could then lock out the service.",
    "接收端起初接受有效事件，收到无效请求之后就不再接受：可能因此封禁了发送方，或者接收端有缺陷。伪造的请求会让本服务也被拒之门外。",
  ],
  refuses_after_check: [
    "The receiver distinguishes valid events from forged events, but refuses both: the signature is right, but a later check fails. Perhaps the receiver's clock is minutes off, or it refuses unknown types, such as webhook.test: answer 2xx to them.",
    "接收端能区分有效事件和伪造事件，却都拒绝：签名正确，但没有通过之后的检查。可能时钟相差几分钟，或拒绝不认识的类型（如 webhook.test）：对这些类型应返回 2xx。",
  ],
  default_names: (namesText) => [
    `The receiver reads the names that the sandbox uses by default: it refuses the events of this store, and accepts the same event with those names. This store has a dialect: ${namesText}. Read the names of the dialect, or use a store without one.`,
    `接收端只认沙箱的默认名称：拒绝此商店的事件，却接受使用默认名称的同一事件。沙箱中的这个商店使用方言：${namesText}。请读取方言的名称，或改用沙箱中没有方言的商店。`,
  ],
  refuses_all: (id) => [
    `The receiver refuses everything, even valid events. Most likely the receiver has a different secret from this endpoint; ${secretCommand(id)} prints the right one. Otherwise it expects headers other than Checkout-Signature and Checkout-Timestamp; signs something other than timestamp, dot, raw body; has a clock that is minutes off; runs a login or CSRF check first; or refuses unknown types, such as webhook.test. To find the cause, give checkout webhooks verify the signature that your code computes, as --signature.`,
    `接收端一律拒绝，包括有效事件。最可能是密钥不正确；${secretCommand(id)} 会显示正确的密钥。也可能是读取的不是 Checkout-Signature 和 Checkout-Timestamp 请求头；签名的内容不是“时间戳 + 点号 + 原始请求体”；时钟相差几分钟；先经过了登录或 CSRF 检查；或拒绝不认识的类型（如 webhook.test）。具体是哪一种：用 --signature 把您的代码算出的签名传给 checkout webhooks verify，即可得知原因。`,
  ],
  no_route: [
    "There is no such route, or none for POST: the path of the endpoint is wrong, or the receiver is another program.",
    "没有这个路由，或该路由不接受 POST：接收端的路径有误，或监听该地址的是别的程序。",
  ],
  redirects: [
    "The receiver answers with a redirect, and redirects are not followed: give the endpoint the target address (http or https, with or without a final slash).",
    "接收端返回了重定向，而推送不会跟随重定向：请把接收端设为最终地址（http 或 https，末尾有无斜杠）。",
  ],
  rate_limited: [
    "The receiver answers 429, even after a pause: its rate limit hides whether it verifies. Exempt the service from the limit.",
    "接收端返回 429，暂停之后仍然如此：请求频率受到限制，因此无法判断验签情况。请不要对本服务限流。",
  ],
  too_slow: [
    "The receiver does not answer in time, so the service would retry again and again. Store the event, answer 2xx, and do the work after that.",
    "接收端没有及时响应，因此本服务会反复重试。请先保存事件并返回 2xx，之后再处理。",
  ],
  silent_on_bad: [
    "The receiver does not answer when it refuses: a branch returns without an answer. Answer 400.",
    "接收端拒绝时没有响应：某个分支没有返回响应就结束了。请返回 400。",
  ],
  drops_connection: [
    "The receiver closes the connection without a complete answer: it crashed, or it is not an HTTP server. Check its log.",
    "接收端没有完整响应就关闭了连接：程序崩溃了，或者不是 HTTP 服务器。请查看日志。",
  ],
  went_away: [
    "The receiver answered before and is not running now: a request ended the process. A failure in one request must not end the process; check its log.",
    "接收端之前有响应，现在已停止运行：某个请求使进程退出。单个请求出错不应使进程退出；请查看日志。",
  ],
  unreachable: [
    "Nothing listens at the endpoint's address. Is the receiver running, and on that port?",
    "该地址上没有程序在监听。接收端是否在运行，端口是否正确？",
  ],
  other_loopback: [
    "The receiver listens on the other loopback address: 127.0.0.1 and [::1] are two addresses. Give the endpoint the address on which the receiver listens, or localhost.",
    "接收端监听在另一个本机回环地址上：127.0.0.1 与 [::1] 是两个地址。请把接收端设为它监听的地址，或使用 localhost。",
  ],
  forbidden: [
    "The sandbox does not send to that address: it is not a loopback address, and no --allow-target names it.",
    "沙箱不会向该地址发送：它不是本机回环地址，也没有用 --allow-target 允许。",
  ],
} as const satisfies Readonly<Record<string, DrillSentence>>;

export const DRILL_NOTES = {
  strict_tolerance: [
    "A note: the receiver refuses timestamps that are less than 5 minutes off. The interface states no tolerance; with a short one, a slow network or an inaccurate clock delays events until their next attempt.",
    "提示：接收端拒绝时间戳相差不到 5 分钟的请求。接口没有规定容差；容差过短时，网络延迟或时钟误差会使事件要等到下一次尝试才被接受。",
  ],
  lenient_tolerance: [
    "A note: the receiver accepts timestamps that are more than 5 minutes off. The interface states no tolerance; with a longer one, a recorded request can be sent again for longer.",
    "提示：接收端接受时间戳相差超过 5 分钟的请求。接口没有规定容差；容差越长，截获的请求可以重放的时间就越长。",
  ],
  dedups_before_age: [
    "A note: the receiver accepts a known event again, however old its timestamp is, but does not process it again: it looks up the event before it checks the timestamp.",
    "提示：对于已知的事件，无论时间戳多旧，接收端都会接受，但不会重复处理：接收端先查事件是否已知，再检查时间戳。",
  ],
  needs_length: [
    "A note: the receiver refuses a body in chunks, without Content-Length. The service sends the length; a proxy in front of your shop may leave it out.",
    "提示：接收端拒绝分块传输、没有 Content-Length 的请求体。本服务会发送长度；但商店前面的代理可能去掉它。",
  ],
  rate_limited_for_a_while: [
    "A note: the receiver answered 429, or 503 with Retry-After, and accepted or refused the same requests later. The service also retries, but later than necessary: exempt the service from the limit.",
    "提示：接收端返回过 429，或带 Retry-After 的 503，之后接受或拒绝了同样的请求。本服务也会重试，但会更晚：请不要对本服务限流。",
  ],
  ignores_event_id: [
    "A note: the receiver accepts an event whose header Checkout-Event-Id differs from the id in the body, which is right if it reads only the body. The header is not signed.",
    "提示：接收端接受 Checkout-Event-Id 请求头与请求体中的 ID 不同的事件；如果只看请求体，这是正确的。该请求头没有签名。",
  ],
} as const satisfies Readonly<Record<string, Words>>;

export type DrillCause = keyof typeof RECEIVER_CAUSES | `connection:${ConnectionFault | DeliveryError}`;
export type DrillNote = keyof typeof DRILL_NOTES;

export const CONNECTION_CAUSES: Readonly<Record<string, Words>> = Object.fromEntries(
  [...DELIVERY_CAUSES, ["", OTHER_CAUSE] as const].map(([code, { text: words }]) => {
    const [text, chinese] = words;
    return [`connection:${code}`, [`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, `${chinese}。`]];
  }),
);
