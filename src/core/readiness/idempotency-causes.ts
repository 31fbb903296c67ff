import { ERRORS } from "../errors.ts";
import type { Words } from "../language.ts";
import type { DrillSentence } from "./drill-sentences.ts";

/** The mistakes in a create that follows a create whose answer was lost. */
export type RetryMistake =
  | "no_key"
  | "other_path"
  | "other_body"
  | "second_create"
  | "new_key"
  | "new_purchase"
  | "says_nothing";

type RelationCauses = Readonly<Record<RetryMistake, Words>>;

/** The cause for each mistake in repeating a create whose answer was lost. */
export const LOSS_CAUSES: RelationCauses = {
  no_key: ERRORS.idempotency_key_missing.cause,
  other_path: [
    "sends the retry to another path with the key: an order and a session are different requests; send the same request again",
    "用同一幂等键重试时换了路径：订单和会话是不同的请求；请重新发送相同的请求",
  ],
  second_create: [
    "creates again with a new key after the answer said that its order exists, perhaps from a retry queue or a double click; check whether the order exists before another create",
    "得知订单已存在后，又用新的幂等键创建：可能由重试队列或重复点击引起；再次创建之前，请先查询订单是否已创建",
  ],
  other_body: [
    "sends another body with the key: something in it changes with each attempt, such as a time or a description",
    "用同一幂等键发送了不同的请求体：其中有内容每次尝试都会变化，例如时间或描述",
  ],
  new_key: [
    "creates a new key for each retry: create one key for each purchase, store it, and send it with every attempt; here order_conflict stops a second order, which the interface does not promise (decision 8)",
    "每次重试都生成新的幂等键：请为每次购买生成一个幂等键并保存，每次尝试都使用它；此处 order_conflict 阻止了第二个订单，但接口并不保证这一点（decision 8）",
  ],
  new_purchase: [
    "creates a new key and a new order_id for each retry, so each retry is a separate purchase",
    "每次重试都生成新的幂等键和新的 order_id，因此每次都是一笔单独的购买",
  ],
  says_nothing: ["gave up before an attempt was answered", "在尝试得到响应之前就放弃了"],
};

/** The cause for each mistake after the client was killed and run again. */
export const CRASH_CAUSES: RelationCauses = {
  ...LOSS_CAUSES,
  new_key: [
    "creates a new key when it is started again, for example from the time, the process or randomness: store the key with the purchase before the first attempt, or derive it only from the purchase",
    "重新启动后生成了新的幂等键，例如取自时间、进程或随机数：请在首次尝试之前把幂等键与购买一起保存，或只由购买内容推导",
  ],
  new_purchase: [
    "makes another purchase when it is started again, with a new key and a new order_id",
    "重新启动后以新的幂等键和新的 order_id 进行了另一次购买",
  ],
};

/** The cause for each mistake after a 503 or a 429. */
export const BUSY_CAUSES: RelationCauses = {
  ...LOSS_CAUSES,
  new_key: [
    "creates a new key after a 503 or a 429: either can follow the creation of the order, so the key must stay the same; here order_conflict stops a second order, which the interface does not promise (decision 8)",
    "收到 503 或 429 后生成了新的幂等键：两者都可能在订单创建之后返回，因此幂等键必须保持不变；此处 order_conflict 阻止了第二个订单，但接口并不保证这一点（decision 8）",
  ],
};

/** The cause for each mistake after a crash of a client that generates its own order_ids. */
export const OWN_ORDER_ID_CAUSES: RelationCauses = {
  ...CRASH_CAUSES,
  new_purchase: [
    "invents an order_id at each start, so a crash leads to a second purchase: CHECKOUT_ORDER_ID is the same when the command is started again",
    "每次启动都自行生成 order_id，因此崩溃会导致第二次购买：重新启动时 CHECKOUT_ORDER_ID 保持不变",
  ],
};

const NO_CREATE_CAUSE = [
  "sends its creates elsewhere, or sends none: the address is in CHECKOUT_BASE_URL, and the API key in CHECKOUT_API_KEY",
  "创建请求发往别处，或没有发送：地址在 CHECKOUT_BASE_URL 中，API 密钥在 CHECKOUT_API_KEY 中",
] as const;

/** All other likely causes of a failed step of the idempotency drill. */
export const IDEMPOTENCY_CAUSES = {
  refused: (result) => [
    `sends a create that the service refuses: ${result}`,
    `发送的创建请求被本服务拒绝：${result}`,
  ],
  other_api_key: (other, own) => [
    `used key …${other}, the drill's is …${own}: take the API key from CHECKOUT_API_KEY, not from your own file`,
    `使用了密钥 …${other}，而演练的密钥是 …${own}：请从 CHECKOUT_API_KEY 读取 API 密钥，而不是从自己的文件中读取`,
  ],
  own_command: [
    "runs this program's own command, which proves nothing about your client",
    "运行的是本程序自己的命令，无法反映您的客户端",
  ],
  late: [
    "ends before its create is sent, so a queue or a daemon sends it: give the drill a command that waits until the order is created",
    "在发送创建请求之前就结束了，请求由队列或守护进程发送：请为演练提供一个等到订单创建完成的命令",
  ],
  not_run: ["the command could not be run", "无法运行该命令"],
  unknown_command: ["the shell does not know the command", "shell 找不到该命令"],
  elsewhere: NO_CREATE_CAUSE,
  failed_at_once: (exitCode) => [
    `ended with exit code ${exitCode} before it sent a create: read its output above (it runs in the folder where you typed checkout); or it ${NO_CREATE_CAUSE[0]}`,
    `在发送创建请求之前以退出码 ${exitCode} 结束：请查看上面的输出（命令在您运行 checkout 的目录中执行）；也可能是${NO_CREATE_CAUSE[1]}`,
  ],
  elsewhere_or_queued: [
    `${NO_CREATE_CAUSE[0]}; or it hands them to a queue or a daemon, and ends: give the drill a command that waits until the order is created (its background processes end with it)`,
    `${NO_CREATE_CAUSE[1]}；也可能交给队列或守护进程后就结束了：请为演练提供一个等到订单创建完成的命令（命令在后台启动的程序会随之结束）`,
  ],
  no_try_in_time: [
    "made no other attempt before the timeout; --command-timeout gives it more time",
    "超时之前没有再次尝试；可用 --command-timeout 延长时间",
  ],
  gave_up: [
    "takes a lost connection for an answer: the order exists, but the shop does not know it; send the same request with the same key again, or end with an exit code other than 0",
    "把连接中断当作响应：订单已存在，而商店并不知道；请用相同的幂等键重新发送相同的请求，或以非 0 的退出码结束",
  ],
  forgotten: [
    "does not resume the purchase that was in progress when it was killed: the order exists, but the shop does not know it; store the purchase and its key before the first attempt, and resume from there",
    "被终止后没有继续已开始的购买：订单已存在，而商店并不知道；请在首次尝试之前保存购买及其幂等键，之后继续完成",
  ],
  hammers: [
    "does not wait after a 429: its next attempts arrive before the time in Retry-After has passed, so the limit may stay in effect; no order is doubled, so this is a note, not a failure; better wait for Retry-After, then continue with the same key",
    "收到 429 后没有等待：在 Retry-After 规定的时间结束之前就继续尝试，限制可能因此一直生效；没有重复下单，所以这是提示而不是失败；最好等待 Retry-After，然后使用相同的幂等键继续",
  ],
  took_503: [
    "takes a 503 for a refusal: the order was created before the 503, but the shop does not know it; send the same request with the same key again",
    "把 503 当作拒绝：订单在此之前已创建，而商店并不知道；请用相同的幂等键重新发送相同的请求",
  ],
  one_purchase: [
    "makes only one purchase: each run of the command must make one, for the order_id in CHECKOUT_ORDER_ID",
    "只进行了一次购买：每次运行命令都应为 CHECKOUT_ORDER_ID 中的 order_id 购买一次",
  ],
  alike: [
    "derives the same key from different order_ids: the second customer gets the first customer's order, or a 409; derive the key from the whole, unchanged order_id, or generate a random key for each purchase and store it",
    "不同的 order_id 生成了同一个幂等键：第二位顾客会得到第一位的订单，或收到 409；请用完整的 order_id 生成幂等键，或为每次购买随机生成并保存",
  ],
  no_second_in_time: [
    "had not made a second purchase before the timeout; --command-timeout gives it more time",
    "超时之前没有进行第二次购买；可用 --command-timeout 延长时间",
  ],
  one_key_for_all: [
    "uses one key for different purchases (here their order_ids differ only in the order of their digits): the second customer gets the first customer's order, or a 409; use one key for each purchase, derived from the whole order_id or stored with it",
    "不同的购买使用同一个幂等键（此处 order_id 只有数字的顺序不同）：第二位顾客会得到第一位的订单，或收到 409；请为每次购买生成一个幂等键，由完整的 order_id 生成，或与其一起保存",
  ],
  no_order: [
    "has created no order, although the service had answered that it did",
    "没有创建订单，尽管本服务的响应表示已创建",
  ],
  more_orders: [
    "creates more than one order for one purchase: a new order for each attempt, or another one by repeating the create",
    "一次购买创建了多个订单：每次尝试各创建一个，或再次创建",
  ],
  endless: ["does not end", "不会结束"],
  reports_failure: [
    "reports a failure although the order exists, so the shop tells the customer that the purchase failed, or starts again",
    "订单已存在却报告失败，因此商店会告诉顾客失败，或重新开始",
  ],
  blind: [
    "ends with exit code 0 although no attempt was answered: the shop believes that the order exists, but knows neither its id nor its payment page",
    "尝试都没有得到响应，却以退出码 0 结束：商店认为订单已创建，却不知道其 id 和支付页面",
  ],
  daemon: [
    "does not end after its order was created: it may be a daemon or a worker that waits for the next one; give the drill a command that makes one purchase and ends",
    "订单创建后没有结束：可能是等待下一次购买的守护进程或 worker；请为演练提供一个购买一次就结束的命令",
  ],
  service_unreached: [
    "the service received no such request: it could not be reached",
    "本服务没有收到该请求：无法连接",
  ],
} as const satisfies Readonly<Record<string, DrillSentence>>;
