import type { Words } from "../language.ts";

const COMMANDS = {
  list: "checkout endpoints list",
  add: "checkout endpoints add <url>",
  secret: "checkout endpoints secret <endpoint_id>",
  enable: "checkout endpoints enable <endpoint_id>",
  event: "checkout events get <event_id>",
  replay: "checkout events replay <event_id>",
  allow: "checkout sandbox start --allow-target <host>",
  trust: "checkout sandbox start --ca <file>",
} as const;

const SILENT_CAUSE = [
  "the receiver took too long: answer 2xx first, and do the work after it",
  "接收端响应太慢：请先返回 2xx，再处理业务",
] as const;

const CAUSES = {
  list: {
    refused: [
      "nothing answers at this address: the receiver is not running, or listens on another port",
      "该地址无人响应：接收端未运行，或运行在其他端口",
    ],
    no_address: [
      "the host name has no address: correct the name, or add it to DNS or the hosts file",
      "该主机名没有地址：请改正名称，或将其加入 DNS 或 hosts 文件",
    ],
    no_route: ["this machine has no route to the address", "本机没有通往该地址的路由"],
    no_connection: [
      "the address did not accept a connection in time: a firewall drops it, or the receiver accepts no more connections",
      "该地址未及时接受连接：防火墙丢弃了连接，或接收端已不再接受新连接",
    ],
    not_permitted: [
      "this machine does not permit the connection: a firewall, or a restriction of the sandbox's process",
      "本机不允许该连接：受防火墙或沙箱进程的权限限制",
    ],
    http2: [
      "the receiver speaks only HTTP/2 on this port: let it accept HTTP/1.1 as well",
      "接收端在该端口只使用 HTTP/2：请让它同时接受 HTTP/1.1",
    ],
    not_http: [
      'the answer is not HTTP: another program listens there; it said "{0}"',
      "响应不是 HTTP：监听该端口的是其他程序；其内容为“{0}”",
    ],
    upgrade: [
      "the receiver answered 101 (another protocol): this is the address of a WebSocket, not of a webhook",
      "接收端返回 101（切换协议）：这是 WebSocket 的地址，不是 Webhook 的地址",
    ],
    // Used if it is unknown why the connection failed, as in a Worker.
    unreachable: [
      "no connection was established, so nothing was sent: check the address, whether the receiver is running, and for https its certificate",
      "未建立连接，因此未发送任何内容：请检查地址、接收端是否在运行，以及 https 的证书",
    ],
    bad_answer: ["the answer cannot be read as HTTP", "无法按 HTTP 解析响应"],
    redirect_login: [
      "the receiver sends requests without a session to its login, {0}: exempt the webhook's route from the login",
      "接收端把没有会话的请求转到登录页 {0}：请让 Webhook 的路由免登录",
    ],
    redirect_page: [
      "the receiver answers like a form, with a redirect to {0}: a webhook's handler must answer 2xx itself; a login in front of the handler can also redirect like this",
      "接收端像处理表单一样重定向到 {0}：Webhook 的处理程序须自己返回 2xx；登录检查也会这样重定向",
    ],
    redirect_itself: [
      "the receiver redirects to the same address: it expects a cookie, or a proxy in front of it changes the scheme",
      "接收端重定向到同一地址：它要求 cookie，或其前面的代理改变了协议",
    ],
    redirect_nowhere: [
      "the receiver answered with a redirect without a Location: only 2xx counts as accepted",
      "接收端返回了没有 Location 的重定向：只有 2xx 才算已接收",
    ],
    "300": [
      "the receiver offers several addresses (300) and accepted nothing: give the endpoint the address of the handler itself",
      "接收端给出多个地址（300），没有接收任何内容：请把接收端改为处理程序本身的地址",
    ],
    "304": [
      "the receiver answered 304 (not modified), which is no answer to a POST: a cache answers in place of the handler; exempt this route",
      "接收端返回 304（未修改），这不是对 POST 的响应：缓存代替处理程序作了响应；请让该路由不经缓存",
    ],
    host_refused: [
      "the receiver's framework does not allow this Host: add the endpoint's host to its allowed hosts",
      "接收端的框架不允许该 Host：请把接收端的主机名加入其允许的主机列表",
    ],
    login: [
      "the receiver requires a login (WWW-Authenticate: {0}) that webhooks do not have: exempt this route",
      "接收端要求登录（WWW-Authenticate: {0}），而 Webhook 不会登录：请让该路由免登录",
    ],
    "419": [
      "the receiver's CSRF protection refused the request (Laravel answers 419): exempt this route from it",
      "接收端的 CSRF 防护拒绝了请求（Laravel 会返回 419）：请将该路由排除在 CSRF 校验之外",
    ],
    "404": ["the receiver has no such path", "接收端没有这个路径"],
    "405": ["the path exists, but does not accept POST", "路径存在，但不接受 POST"],
    "407": ["a proxy in front of the receiver requires a login (407)", "接收端前面的代理要求登录（407）"],
    "421": [
      "the receiver's server does not serve this host name on this connection",
      "接收端的服务器在该连接上不处理此主机名的请求",
    ],
    "426": [
      "the receiver requires another protocol (426): this may be the address of a WebSocket, or it requires HTTP/2",
      "接收端要求其他协议（426）：可能是 WebSocket 的地址，或要求 HTTP/2",
    ],
    "501": [
      "the receiver does not support POST: a server of static files listens there, not the webhook's handler",
      "接收端不支持 POST：监听该端口的是静态文件服务器，而不是 Webhook 的处理程序",
    ],
  },
  add: {
    tls_wrong_name: [
      "the receiver's certificate is for another host name: use a host name of the certificate, or a certificate for this one",
      "接收端的证书属于其他主机名：请使用证书中的主机名，或换成该主机名的证书",
    ],
    tls_not_spoken: [
      "the receiver does not speak TLS on this port: give the endpoint an http address, or the https port",
      "接收端在该端口不使用 TLS：请把接收端改为 http 地址，或改用 https 端口",
    ],
    tls_closed: [
      "the receiver closed the connection during the TLS handshake: its port may not speak TLS, or it has no certificate for this host name",
      "接收端在 TLS 握手时关闭了连接：该端口可能不使用 TLS，或没有该主机名的证书",
    ],
    tls_silent: [
      "the receiver accepted the connection but did not answer the TLS handshake: its port may speak http",
      "接收端接受了连接，但未响应 TLS 握手：该端口可能使用 http",
    ],
    expects_tls: [
      "the receiver speaks TLS on this port: give the endpoint an https address",
      "接收端在该端口使用 TLS：请把接收端改为 https 地址",
    ],
    redirect: [
      "redirects are not followed: the receiver redirects to {0}; give the endpoint that address",
      "不跟随重定向：接收端重定向到 {0}；请把接收端改为该地址",
    ],
    redirect_slash: [
      "redirects are not followed: the receiver's path differs by the slash at its end; give the endpoint the address {0}",
      "不跟随重定向：接收端的路径只差末尾的斜杠；请把接收端改为 {0}",
    ],
    redirect_https: [
      "redirects are not followed: the receiver redirects http to https; give the endpoint the address {0}",
      "不跟随重定向：接收端把 http 重定向到 https；请把接收端改为 {0}",
    ],
    plain_http: [
      "the receiver expects https on this port: give the endpoint an https address",
      "接收端在该端口要求 https：请把接收端改为 https 地址",
    ],
    elsewhere: [
      "nothing listens at this address, but {0} answers on this port: give the endpoint that address, or localhost, which stands for both",
      "该地址无人监听，但 {0} 在该端口有响应：请把接收端改为该地址，或改用同时代表两者的 localhost",
    ],
  },
  secret: {
    "400": [
      "the receiver refused the event, usually because it verifies the signature with another secret, or over a parsed body",
      "接收端拒绝了该事件：多半是验签失败，用了别的密钥，或对解析后的请求体验签",
    ],
    "401": [
      "the receiver requires a login that webhooks do not have: exempt this route; or its handler refused the signature",
      "接收端要求登录，而 Webhook 不会登录：请让该路由免登录；或其处理程序拒绝了签名",
    ],
    "403": [
      "the receiver's CSRF protection, a login or a firewall is on for this route: exempt the route from it; or its handler refused the signature",
      "该路由启用了 CSRF 防护、登录检查或防火墙：请将该路由排除在外；或其处理程序拒绝了签名",
    ],
    "422": [
      "the receiver's framework refused the request: its CSRF protection (Rails answers 422), or its validation of fields; exempt this route; or its handler refused the signature",
      "接收端的框架拒绝了请求：CSRF 防护（Rails 会返回 422）或字段校验；请将该路由排除在外；或其处理程序拒绝了签名",
    ],
  },
  enable: {
    "410": [
      "the receiver answered 410 (gone), so the endpoint was disabled",
      "接收端返回 410（已不存在），因此已将其停用",
    ],
  },
  event: {
    interrupted: [
      "the sandbox stopped during the attempt; the event will be sent again",
      "尝试期间沙箱停止；事件将重新推送",
    ],
    html_page: [
      "the answer is an HTML page: a login, a catch-all route or a front-end's server may have answered in place of the webhook's handler",
      "响应是一个 HTML 页面：可能是登录页、兜底路由或前端服务器代替 Webhook 的处理程序作了响应",
    ],
    "411": [
      "the receiver requires a Content-Length, which each delivery has: a proxy in front of the receiver removes the header",
      "接收端要求 Content-Length，而每次推送都带有该请求头：接收端前面的代理去掉了它",
    ],
    "413": [
      "the receiver's size limit for bodies is smaller than the event",
      "接收端的请求体上限小于事件的大小",
    ],
    "415": ["the receiver does not accept application/json on this route", "该路由不接受 application/json"],
    "431": [
      "the receiver's size limit for headers is smaller than a delivery's headers",
      "接收端的请求头上限小于一次推送的请求头",
    ],
  },
  replay: {
    too_many_files: [
      "the sandbox's process has too many open files: raise its limit (ulimit -n)",
      "沙箱进程打开的文件过多：请调高上限（ulimit -n）",
    ],
    intercepted: [
      "a library in the sandbox's process refused the request before it reached the network: in nock allow the address with enableNetConnect, in MSW with passthrough()",
      "沙箱进程中的某个库在请求到达网络之前拒绝了它：nock 请用 enableNetConnect 放行该地址，MSW 请用 passthrough()",
    ],
    tls_expired: ["the receiver's certificate has expired: renew it", "接收端的证书已过期：请更新证书"],
    tls_not_yet_valid: [
      "the receiver's certificate is not valid yet: check its dates and this machine's clock",
      "接收端的证书尚未生效：请检查证书日期和本机时钟",
    ],
    tls_version: [
      "the receiver supports only versions of TLS that are too old or not supported here: enable TLS 1.2 or 1.3",
      "接收端只支持过旧或此处不支持的 TLS 版本：请启用 TLS 1.2 或 1.3",
    ],
    tls_no_agreement: [
      "the receiver refused the TLS handshake: it has no cipher in common with the sandbox, or it requires a client certificate, which webhooks do not have",
      "接收端拒绝了 TLS 握手：它与沙箱没有共同的加密套件，或要求客户端证书，而 Webhook 没有",
    ],
    tls_client_certificate: [
      "the receiver requires a client certificate, which webhooks do not have: exempt the webhook's route",
      "接收端要求客户端证书，而 Webhook 没有：请为该路由取消此要求",
    ],
    tls_failed: [
      "the TLS handshake failed, and the error says why: check the TLS settings of the receiver",
      "TLS 握手失败，原因见错误信息：请检查接收端的 TLS 设置",
    ],
    silent: SILENT_CAUSE,
    closed: [
      "the receiver closed the connection without an answer: it crashed, or its server limits the size of bodies",
      "接收端未响应就关闭了连接：可能已崩溃，或其服务器限制请求体大小",
    ],
    unfinished_head: [
      "the receiver began an answer and stopped before the end of its headers: check its log",
      "接收端开始响应，但在响应头结束前中断：请查看其日志",
    ],
    unfinished_body: [
      "the receiver answered {0}, but the connection ended after {1} of {2} bytes of its body: the Content-Length must match the body",
      "接收端返回了 {0}，但响应体只到达 {1}/{2} 字节连接就结束了：Content-Length 须与响应体一致",
    ],
    slow_body: [
      "the receiver answered {0} and did not finish its body in time ({1} bytes arrived): finish the answer, and send a Content-Length",
      "接收端返回了 {0}，但未及时结束响应体（已到 {1} 字节）：请结束响应，并给出 Content-Length",
    ],
    head_too_large: [
      "the headers of the answer are larger than 16 KB, so the answer cannot be read: send fewer or shorter headers, such as cookies",
      "响应头超过 16 KB，无法读取响应：请减少或缩短响应头，例如 cookie",
    ],
    body_too_large: [
      "the body of the answer is too large: answer with an empty body",
      "响应体过大：请返回空响应体",
    ],
    invalid_head: [
      "the answer is HTTP, but a header or the status line is invalid: the error says which part",
      "响应是 HTTP，但状态行或某个响应头无效：错误信息说明了是哪一部分",
    ],
    invalid_body: [
      "the receiver answered {0}, but its body is not framed as its headers announce: check Transfer-Encoding and Content-Length",
      "接收端返回了 {0}，但响应体的格式与响应头不符：请检查 Transfer-Encoding 和 Content-Length",
    ],
    connection_lost: [
      "no complete answer arrived: nothing listens at this address, or the receiver closed the connection; check whether it is running, and its log",
      "没有收到完整的响应：该地址无人监听，或接收端关闭了连接；请检查接收端是否在运行，并查看其日志",
    ],
    "408": ["the receiver did not read the request in time (408)", "接收端未及时读完请求（408）"],
    "429": [
      "the receiver limits the request rate; its Retry-After is honoured",
      "接收端限流；会遵守其 Retry-After",
    ],
    "4xx": ["the receiver refused the event; its answer says why", "接收端拒绝了该事件；原因见其响应"],
    "502": [
      "a proxy in front of the receiver got no valid answer from it (502): check that the receiver is running behind it",
      "接收端前面的代理未得到有效响应（502）：请检查代理后面的接收端是否在运行",
    ],
    "503": [
      "the receiver, or a proxy in front of it, is not available (503): see its log",
      "接收端或其前面的代理不可用（503）：请查看其日志",
    ],
    "504": [
      "a proxy in front of the receiver waited too long for it (504): answer 2xx first, and do the work after it",
      "接收端前面的代理等待超时（504）：请先返回 2xx，再处理业务",
    ],
    "5xx": ["the receiver failed: see its log and its answer", "接收端出错：请查看接收端的日志和响应"],
    timeout: SILENT_CAUSE,
  },
  allow: {
    target_forbidden: ["deliveries go to this machine only (decision 14)", "推送只发往本机（见约定 14）"],
  },
  trust: {
    tls_untrusted: [
      "the receiver's certificate is self-signed, or signed by a CA that is not trusted here: name that CA's PEM file with --ca",
      "接收端的证书为自签名，或由此处不信任的 CA 签发：请用 --ca 指定该 CA 的 PEM 文件",
    ],
  },
} as const satisfies Readonly<Record<keyof typeof COMMANDS, Readonly<Record<string, Words>>>>;
export type CauseCode = { [Name in keyof typeof CAUSES]: keyof (typeof CAUSES)[Name] }[keyof typeof CAUSES];

type Cause = { readonly text: Words; readonly next: string };

export const OTHER_CAUSE: Cause = {
  text: ["only a 2xx counts as accepted", "只有 2xx 才算已接收"],
  next: COMMANDS.replay,
};

export const DELIVERY_CAUSES: ReadonlyMap<string, Cause> = new Map(
  Object.entries(CAUSES).flatMap(([name, texts]) =>
    Object.entries(texts).map(
      ([code, text]) => [code, { text, next: COMMANDS[name as keyof typeof CAUSES] }] as const,
    ),
  ),
);
