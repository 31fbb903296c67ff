export const WEBHOOK_REFUSALS = {
  invalid_parameter: {
    not_event_type: [
      "an event type is order.<status> or checkout_session.<status> ({statuses}) or webhook.test, or a pattern: order.*, *; got {got}",
      "事件类型为 order.<status>、checkout_session.<status>（{statuses}）或 webhook.test，也可用通配：order.*、*；收到 {got}",
    ],
    ca_too_long: ["must have at most {most} characters", "至多 {most} 个字符"],
    ca_with_private_key: ["must be certificates only, without the private key", "只能包含证书，不得包含私钥"],
    ca_not_pem: [
      "must be CA certificates in PEM, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----",
      "应为 PEM 格式的 CA 证书，每个从 -----BEGIN CERTIFICATE----- 到 -----END CERTIFICATE-----",
    ],
    header_form: "a header is NAME:VALUE, on one line and without control characters",
    header_reserved: "the header {header} is set by the delivery and is forwarded unchanged",
    target_with_credentials: [
      "the address must not contain a user, a password or an @",
      "地址不得含用户名、密码或 @",
    ],
    target_port: ["a port is 1 to 65535; got {received}", "端口为 1 到 65535；收到 {received}"],
    target_not_url: [
      "the address must be an http or https URL; got {received}",
      "地址必须是 http 或 https 的 URL；收到 {received}",
    ],
    target_with_fragment: [
      "the address must not have a fragment; got {received}",
      "地址不得含片段；收到 {received}",
    ],
    target_host_form: "expected HOST without a port; got {received}",
    route_form: "a route has the form TYPE=URL, such as order.*=http://localhost:3000/orders; got {received}",
    header_names:
      "header names are {names}, each at most once, all with different names: {example}; got {received}",
    target_without_scheme: [
      "the address must be an http or https URL; got {received}; write {instead}",
      "地址必须是 http 或 https 的 URL；收到 {received}；请写 {instead}",
    ],
    target_spelling: [
      "the host {host} means {meant}; write it in that form",
      "主机 {host} 即 {meant}；请写成后者",
    ],
    target_not_local: [
      "events are sent only to this machine: localhost, 127.0.0.1 or [::1]; got {host}. Start the sandbox with --allow-target {quoted} to allow it",
      "事件只发往本机：localhost、127.0.0.1 或 [::1]；收到 {host}。启动沙箱时加 --allow-target {quoted} 即可放行",
    ],
    target_not_public: [
      "events are sent only to public addresses; got {host}. Start the service with --allow-target {quoted} to allow it",
      "事件只发往公网地址；收到 {host}。启动服务时加 --allow-target {quoted} 即可放行",
    ],
    target_is_sandbox: [
      "port {port} is the sandbox itself; give the address of your receiver",
      "端口 {port} 是沙箱自己；请填写接收端的地址",
    ],
    target_port_zero: [
      "port 0 cannot be used; give the port of your receiver",
      "端口 0 无效；请填写接收端的端口",
    ],
    ca_when_public: [
      "this service trusts public certificate authorities only; leave ca out",
      "此服务只信任公共证书颁发机构；请去掉 ca",
    ],
    ca_without_https: [
      "CA certificates need an https address; leave ca out, or write https",
      "CA 证书需要 https 地址；请去掉 ca，或改为 https",
    ],
    target_never: [
      "nothing is ever sent to {host}; name the host of your receiver",
      "不会向 {host} 发送任何内容；请填写接收端的主机",
    ],
    host_spelling: ["{host} means {meant}; write it in that form", "{host} 即 {meant}；请写成后者"],
    target_resolves: [
      "{host} resolves to {addresses}, to which nothing is sent",
      "{host} 解析为 {addresses}，不会向这些地址发送",
    ],
  },
  not_found: {
    no_endpoint: ["there is no endpoint {endpoint}", "接收端 {endpoint} 不存在"],
    no_delivery_before: [
      "there is no delivery {delivery}, so the list cannot continue from it",
      "推送 {delivery} 不存在，列表无法从此处继续",
    ],
    no_delivery: ["there is no delivery {delivery}", "推送 {delivery} 不存在"],
    no_event: ["there is no event {event}", "事件 {event} 不存在"],
    no_held_request: ["request {request} is not waiting for an answer", "请求 {request} 不在等待响应"],
  },
  state_conflict: {
    nothing_delivered: ["nothing is delivered: {hold}", "当前不推送：{hold}"],
    endpoint_exists: ["endpoint {endpoint} already has that address", "接收端 {endpoint} 已使用该地址"],
    too_many_endpoints: [
      "a store has at most {most} endpoints; remove one first",
      "商店至多有 {most} 个接收端；请先移除一个",
    ],
    endpoint_without_listener: [
      "endpoint {endpoint} has no listener that could disconnect; to hold its deliveries: pause",
      "接收端 {endpoint} 没有监听程序；要暂停推送，请使用 pause",
    ],
    too_many_events: [
      "more than {most} events were created since then; choose a later time",
      "自那时起的事件超过 {most} 个；请指定更晚的时间",
    ],
    nobody_subscribes: [
      "no enabled endpoint subscribes to {type}; add an endpoint, or name one",
      "没有启用且订阅 {type} 的接收端；请添加或指定一个",
    ],
    endpoints_changed: [
      "the endpoints changed during the drill, so the drill proves nothing",
      "演练期间接收端有变，因此结果无效",
    ],
    endpoint_disabled: [
      "endpoint {endpoint} is disabled: {why}; enable it first",
      "接收端 {endpoint} 已停用：{why}；请先启用",
    ],
    endpoint_paused: [
      "endpoint {endpoint} is paused: {why}; its deliveries are sent when it is enabled",
      "接收端 {endpoint} 已暂停：{why}；启用后才会推送",
    ],
    endpoint_without_its_listener: [
      "endpoint {endpoint} is paused: {why}; its deliveries are sent when checkout listen runs again",
      "接收端 {endpoint} 已暂停：{why}；再次运行 checkout listen 后才会推送",
    ],
    endpoint_not_enabled: [
      "endpoint {endpoint} is {state}; enable it first",
      "接收端 {endpoint} 的状态为 {state}；请先启用",
    ],
    endpoint_of_listener: [
      "endpoint {endpoint} belongs to checkout listen; drill the receiver to which it forwards",
      "接收端 {endpoint} 属于 checkout listen；请演练它转发到的接收端",
    ],
  },
} as const;
