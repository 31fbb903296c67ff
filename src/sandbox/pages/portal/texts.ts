import type { Language } from "../../../web/language.ts";

/** The texts of the frame and of signing in, in English. */
const ENGLISH = {
  portal: "checkout portal",
  administrator: "Administrator",
  test: "TEST",
  frozen: "frozen",
  moved: "moved",
  storeTime: "Time in this store:",
  chooseStore: ", choose another store",
  allStores: "All stores",
  search: "Search",
  searchHint: "/ search: order id, any id, text",
  skip: "Skip to the page",
  commandsOfStore: "Commands act on the first store unless another one is chosen. To choose this one:",
  session: "This browser",
  signOut: "Sign out",
  keysAreOn: "Single-key shortcuts are on. ? lists them.",
  keysAreOff: "Single-key shortcuts are off.",
  keysOn: "Switch shortcuts on",
  keysOff: "Switch shortcuts off",
  open: "open",
  failing: "failing",
  passed: "items pass",
  menu: "Pages of this store",
  start: "Start",
  checkouts: "Checkouts",
  webhooks: "Webhooks",
  requests: "Requests",
  catalog: "Catalog",
  keys: "Keys",
  settings: "Settings",
  clock: "Clock",
  faults: "Faults",
  launch: "Launch",
  stores: "Stores",
  closed: "checkout open leads to the portal",
  closedHint:
    "The portal has an address that nobody can guess, so it is told nowhere here, and a bookmark without it leads no further. Type this in a terminal, in the folder of the sandbox:",
  signIn: "Sign in",
  signInHint:
    "Type this in a terminal, in the folder of the sandbox: it signs this browser in. Or paste the link that checkout open --print shows, or the code at its end.",
  signInAdmin: "Sign in as the administrator",
  signInAdminHint:
    "The administrator approves production and catalog prices. The admin token is in .checkout/admin.json, or in the environment of whoever is the administrator.",
  adminToken: "Admin token",
  code: "Code or link",
  notSignedIn: "Nobody is signed in in this browser. After that the page is shown that was asked for.",
  codeRefused: "This code was used, has expired, or was never given out. checkout open makes a new one.",
  tokenRefused: "This is not the admin token of this sandbox.",
  tooManyTries: (seconds: number) => `Too many wrong tries. Try again in ${seconds} s.`,
  toStart: "To the start page",
  toPage: "Back to the page",
  goOn: "What to do",
  hints: {
    400: "Go back, correct what is named here, and send it again.",
    403: "Load the page again and repeat what you did there. A page of another site cannot act here.",
    404: "The address may be of another store, or of something that a reset or a restore has removed. The search field finds every id of this store.",
    405: "Open the page again by its address.",
    409: "Something has changed meanwhile. Load the page again to see how it is now.",
    429: "Wait a moment and try again.",
    500: "This is a fault of the sandbox. Its log says why, under the request id in this answer: checkout sandbox logs.",
    503: "The database cannot be used right now. checkout doctor says why.",
  },
  errorTitles: { 409: "This is no longer so", 429: "Too many tries" },
};

/** The same in Simplified Chinese. */
const CHINESE: typeof ENGLISH = {
  portal: "checkout 控制台",
  administrator: "管理员",
  test: "测试",
  frozen: "已冻结",
  moved: "已调整",
  storeTime: "商店时间：",
  chooseStore: "，切换商店",
  allStores: "所有商店",
  search: "搜索",
  searchHint: "/ 搜索：订单号、任意 ID、文本",
  skip: "跳到正文",
  commandsOfStore: "命令默认作用于第一个商店。选择此商店：",
  session: "此浏览器",
  signOut: "退出登录",
  keysAreOn: "单键快捷键已开启，按 ? 查看。",
  keysAreOff: "单键快捷键已关闭。",
  keysOn: "开启快捷键",
  keysOff: "关闭快捷键",
  open: "个未完成",
  failing: "个异常",
  passed: "项通过",
  menu: "商店页面",
  start: "开始",
  checkouts: "订单",
  webhooks: "Webhook",
  requests: "请求",
  catalog: "商品",
  keys: "密钥",
  settings: "设置",
  clock: "时钟",
  faults: "故障",
  launch: "上线",
  stores: "商店",
  closed: "请用 checkout open 打开控制台",
  closedHint:
    "控制台的地址无法猜到，此处不会显示；不含该地址的旧书签已失效。请在沙箱所在文件夹的终端中输入：",
  signIn: "登录",
  signInHint:
    "在沙箱所在文件夹的终端中输入以下命令，即可在此浏览器登录。也可以粘贴 checkout open --print 显示的链接或其末尾的代码。",
  signInAdmin: "管理员登录",
  signInAdminHint:
    "管理员负责批准生产环境和商品价格。管理员令牌位于 .checkout/admin.json，或由管理员自行保管。",
  adminToken: "管理员令牌",
  code: "代码或链接",
  notSignedIn: "此浏览器尚未登录。登录后将显示所请求的页面。",
  codeRefused: "该代码已使用、已过期或无效。运行 checkout open 可获取新的代码。",
  tokenRefused: "这不是此沙箱的管理员令牌。",
  tooManyTries: (seconds: number) => `错误次数过多，请在 ${seconds} 秒后重试。`,
  toStart: "前往开始页",
  toPage: "返回页面",
  goOn: "如何处理",
  hints: {
    400: "请返回，修正此处指出的问题后重新提交。",
    403: "请重新加载页面并重复操作。其他网站的页面无法在此执行操作。",
    404: "该地址可能属于其他商店，或其内容已被重置或恢复操作移除。搜索框可查找本商店的任意 ID。",
    405: "请通过地址重新打开页面。",
    409: "内容已发生变化，请重新加载页面查看当前状态。",
    429: "请稍候再试。",
    500: "沙箱出现故障。可凭此响应中的请求 ID 在日志中查看原因：checkout sandbox logs。",
    503: "目前无法使用数据库。运行 checkout doctor 可查看原因。",
  },
  errorTitles: { 409: "状态已改变", 429: "尝试次数过多" },
};

/** The texts of the frame in each language. */
export const FRAME_TEXTS: Readonly<Record<Language, typeof ENGLISH>> = { en: ENGLISH, zh: CHINESE };

/** The texts of the parts that all pages share, in English. */
const ENGLISH_PARTS = {
  status: {
    created: "created",
    pending: "pending",
    succeeded: "succeeded",
    failed: "failed",
    expired: "expired",
    cancelled: "cancelled",
  },
  noAnswer: "no answer",
  pretty: "Pretty",
};

/** The same in Simplified Chinese. */
const CHINESE_PARTS: typeof ENGLISH_PARTS = {
  status: {
    created: "待支付",
    pending: "处理中",
    succeeded: "已支付",
    failed: "失败",
    expired: "已过期",
    cancelled: "已取消",
  },
  noAnswer: "无响应",
  pretty: "格式化",
};

/** The texts of the shared parts in each language. */
export const PART_TEXTS: Readonly<Record<Language, typeof ENGLISH_PARTS>> = {
  en: ENGLISH_PARTS,
  zh: CHINESE_PARTS,
};
