import type { Texts } from "../../../web/html.ts";

/** The texts of the frame in each language. */
export const FRAME_TEXTS = {
  portal: ["checkout portal", "checkout 控制台"],
  administrator: ["Administrator", "管理员"],
  test: ["TEST", "测试"],
  frozen: ["frozen", "已冻结"],
  moved: ["moved", "已调整"],
  storeTime: ["Time in this store:", "商店时间："],
  chooseStore: [", choose another store", "，切换商店"],
  allStores: ["All stores", "所有商店"],
  search: ["Search", "搜索"],
  searchHint: ["/ search: order id, any id, text", "/ 搜索：订单号、任意 ID、文本"],
  skip: ["Skip to the page", "跳到正文"],
  commandsOfStore: [
    "Commands act on the first store unless another one is chosen. To choose this one:",
    "命令默认作用于第一个商店。选择此商店：",
  ],
  session: ["This browser", "此浏览器"],
  signOut: ["Sign out", "退出登录"],
  keysAreOn: ["Single-key shortcuts are on. ? lists them.", "单键快捷键已开启，按 ? 查看。"],
  keysAreOff: ["Single-key shortcuts are off.", "单键快捷键已关闭。"],
  keysOn: ["Switch shortcuts on", "开启快捷键"],
  keysOff: ["Switch shortcuts off", "关闭快捷键"],
  open: ["open", "个未完成"],
  failing: ["failing", "个异常"],
  passed: ["items pass", "项通过"],
  menu: ["Pages of this store", "商店页面"],
  start: ["Start", "开始"],
  checkouts: ["Checkouts", "订单"],
  webhooks: ["Webhooks", "Webhook"],
  requests: ["Requests", "请求"],
  catalog: ["Catalog", "商品"],
  keys: ["Keys", "密钥"],
  settings: ["Settings", "设置"],
  clock: ["Clock", "时钟"],
  faults: ["Faults", "故障"],
  launch: ["Launch", "上线"],
  stores: ["Stores", "商店"],
  closed: ["checkout open leads to the portal", "请用 checkout open 打开控制台"],
  closedHint: [
    "The portal has an address that nobody can guess, so it is told nowhere here, and a bookmark without it leads no further. Type this in a terminal, in the folder of the sandbox:",
    "控制台的地址无法猜到，此处不会显示；不含该地址的旧书签已失效。请在沙箱所在文件夹的终端中输入：",
  ],
  signIn: ["Sign in", "登录"],
  signInHint: [
    "Type this in a terminal, in the folder of the sandbox: it signs this browser in. Or paste the link that checkout open --print shows, or the code at its end.",
    "在沙箱所在文件夹的终端中输入以下命令，即可在此浏览器登录。也可以粘贴 checkout open --print 显示的链接或其末尾的代码。",
  ],
  signInAdmin: ["Sign in as the administrator", "管理员登录"],
  signInAdminHint: [
    "The administrator approves production and catalog prices. The admin token is in .checkout/admin.json, or in the environment of whoever is the administrator.",
    "管理员负责批准生产环境和商品价格。管理员令牌位于 .checkout/admin.json，或由管理员自行保管。",
  ],
  adminToken: ["Admin token", "管理员令牌"],
  code: ["Code or link", "代码或链接"],
  notSignedIn: [
    "Nobody is signed in in this browser. After that the page is shown that was asked for.",
    "此浏览器尚未登录。登录后将显示所请求的页面。",
  ],
  codeRefused: [
    "This code was used, has expired, or was never given out. checkout open makes a new one.",
    "该代码已使用、已过期或无效。运行 checkout open 可获取新的代码。",
  ],
  tokenRefused: ["This is not the admin token of this sandbox.", "这不是此沙箱的管理员令牌。"],
  tooManyTries: (seconds: number) => [
    `Too many wrong tries. Try again in ${seconds} s.`,
    `错误次数过多，请在 ${seconds} 秒后重试。`,
  ],
  toStart: ["To the start page", "前往开始页"],
  toPage: ["Back to the page", "返回页面"],
  goOn: ["What to do", "如何处理"],
  hints: {
    400: [
      "Go back, correct what is named here, and send it again.",
      "请返回，修正此处指出的问题后重新提交。",
    ],
    403: [
      "Load the page again and repeat what you did there. A page of another site cannot act here.",
      "请重新加载页面并重复操作。其他网站的页面无法在此执行操作。",
    ],
    404: [
      "The address may be of another store, or of something that a reset or a restore has removed. The search field finds every id of this store.",
      "该地址可能属于其他商店，或其内容已被重置或恢复操作移除。搜索框可查找本商店的任意 ID。",
    ],
    405: ["Open the page again by its address.", "请通过地址重新打开页面。"],
    409: [
      "Something has changed meanwhile. Load the page again to see how it is now.",
      "内容已发生变化，请重新加载页面查看当前状态。",
    ],
    429: ["Wait a moment and try again.", "请稍候再试。"],
    500: [
      "This is a fault of the sandbox. Its log says why, under the request id in this answer: checkout sandbox logs.",
      "沙箱出现故障。可凭此响应中的请求 ID 在日志中查看原因：checkout sandbox logs。",
    ],
    503: [
      "The database cannot be used right now. checkout doctor says why.",
      "目前无法使用数据库。运行 checkout doctor 可查看原因。",
    ],
  },
  errorTitles: {
    409: ["This is no longer so", "状态已改变"],
    429: ["Too many tries", "尝试次数过多"],
  },
} satisfies Texts;

/** The texts of the shared parts in each language. */
export const PART_TEXTS = {
  status: {
    created: ["created", "待支付"],
    pending: ["pending", "处理中"],
    succeeded: ["succeeded", "已支付"],
    failed: ["failed", "失败"],
    expired: ["expired", "已过期"],
    cancelled: ["cancelled", "已取消"],
  },
  noAnswer: ["no answer", "无响应"],
  pretty: ["Pretty", "格式化"],
} satisfies Texts;
