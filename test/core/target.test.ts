import { expect, test } from "vitest";
import { EVENT_TYPES, parseEventTypes, matchesEventPatterns } from "../../src/core/checkout/event-types.ts";
import {
  filterAddresses,
  parseTarget,
  parseTargetHost,
  type DeliveryTarget,
} from "../../src/core/webhook/target.ts";
import { createHarness } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { refusalText } from "../support/refusal-texts.ts";
import type { FactName } from "../../src/core/refusals.ts";

const POLICY = { allowedHosts: ["shop.test", "10.1.2.3"], ownPort: 4242 };

const ALLOWED: readonly (readonly [url: string, port: number, addresses: readonly string[] | null])[] = [
  ["http://localhost:3000/hooks", 3000, ["127.0.0.1", "::1"]],
  ["http://localhost/hooks", 80, ["127.0.0.1", "::1"]],
  ["https://localhost/hooks", 443, ["127.0.0.1", "::1"]],
  ["https://localhost:8443/hooks?a=1", 8443, ["127.0.0.1", "::1"]],
  ["http://localhost:3000/?of=http://a:01/", 3000, ["127.0.0.1", "::1"]],
  ["http://shop.localhost:3000/hooks", 3000, ["127.0.0.1", "::1"]],
  ["https://a.b-c.localhost/", 443, ["127.0.0.1", "::1"]],
  ["http://127.0.0.1:3000", 3000, ["127.0.0.1"]],
  ["http://127.8.9.10:3000/", 3000, ["127.8.9.10"]],
  ["http://[::1]:3000/", 3000, ["::1"]],
  ["http://shop.test/hooks", 80, null],
  ["http://10.1.2.3:8080/hooks", 8080, null],
];

/** Addresses at which clouds give a machine its credentials, and IPv6 addresses that hide a local IPv4 address. */
const METADATA = [
  "169.254.169.254",
  "100.100.100.200",
  "::ffff:100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
  "fd00:c1::a9fe:a9fe",
  "fd00:42::42",
  "fe80::a9fe:a9fe",
  "::a9fe:a9fe",
  "::7f00:1",
  "::a00:1",
];

/** Refused addresses, by the facts of their refusals. */
const FORBIDDEN: readonly (readonly [facts: readonly FactName[], urls: readonly string[]])[] = [
  [
    ["target_not_local"],
    [
      "http://10.0.0.1/",
      "http://172.16.0.1/",
      "http://192.168.1.1/",
      "http://169.254.169.254/latest/meta-data/",
      "http://100.64.0.1/",
      "http://0.0.0.0/",
      "http://255.255.255.255/",
      "http://224.0.0.1/",
      "http://198.18.0.1/",
      "http://192.0.2.1/",
      "http://1.1.1.1/",
      "http://126.255.255.255/",
      "http://128.0.0.1/",
      "http://[::]/",
      "http://[::2]/",
      "http://[fe80::1]/",
      "http://[fc00::1]/",
      "http://[fd12:3456::1]/",
      "http://[ff02::1]/",
      "http://[2001:db8::1]/",
      "http://[2606:4700:4700::1111]/",
      "http://[::ffff:7f00:1]/",
      "http://[::ffff:a00:1]/",
      "http://[::ffff:a9fe:a9fe]/",
      "http://[64:ff9b::7f00:1]/",
      "http://[2002:7f00:1::]/",
      "http://[::7f00:1]/",
      "http://example.com/",
      "http://metadata.google.internal/",
      "http://localhost.example.com/",
      "http://.localhost/",
      "http://xlocalhost/",
      "http://127.0.0.1.nip.io/",
      "http://localtest.me/",
      "http://localhost./",
      "http://ip6-localhost/",
      "http://host.docker.internal/",
      "http://shop.test.evil.example/",
      "http://xshop.test/",
      "http://10.1.2.30/",
      "http://xn--lcalhost-n6a/",
    ],
  ],
  [
    ["target_spelling"],
    [
      "http://0x7f.0.0.1/",
      "http://0x7f000001/",
      "http://2130706433/",
      "http://017700000001/",
      "http://127.1/",
      "http://127.0.1/",
      "http://0177.0.0.1/",
      "http://127.0.0.01/",
      "http://127.0.0.1./",
      "http://LOCALHOST/",
      "http://LocalHost:3000/",
      "http://ｌｏｃａｌｈｏｓｔ/",
      "http://①②⑦.⓪.⓪.①/",
      "http://127。0。0。1/",
      "http://%6c%6f%63%61%6c%68%6f%73%74/",
      "http://127.0.0.%31/",
      "http://[::0001]/",
      "http://[0:0:0:0:0:0:0:1]/",
      "http://[::ffff:127.0.0.1]/",
      "http://[::ffff:169.254.169.254]/",
      "http://[::127.0.0.1]/",
      "http://lo\u00adcalhost/",
      "http://0xA9.0xFE.0xA9.0xFE/",
      "http://2852039166/",
      "http://3232235777/",
    ],
  ],
  [
    ["target_not_url", "target_without_scheme"],
    [
      "",
      "localhost:3000",
      "//localhost:3000/",
      "ftp://localhost/",
      "file:///etc/passwd",
      "gopher://localhost:70/",
      "javascript:alert(1)",
      "data:text/plain,x",
      "unix:/var/run/docker.sock",
      "ws://localhost/",
      "xhttp://localhost:3000/",
      "http:localhost:3000",
      "http:/localhost:3000",
      "http:///localhost:3000",
      "http:\\\\localhost\\",
      " http://localhost/",
      "http://localhost /",
      "http://local\nhost/",
      "http://local\thost/",
      "http://localhost:03000/",
      "http://localhost:03000",
      "https://localhost:08443?a=1",
      "http://",
      `http://localhost/${"a".repeat(2048)}`,
    ],
  ],
  [
    ["target_with_credentials"],
    [
      "http://user@localhost/",
      "http://user:password@localhost:3000/",
      "http://localhost@evil.example/",
      "http://localhost/@",
      "http://localhost\\@evil.example/",
      "http://:@localhost/",
      "http://user@localhost:99999/",
    ],
  ],
  [["target_with_fragment"], ["http://localhost/#", "http://localhost/#a"]],
  [["target_port"], ["http://localhost:99999/", "https://127.0.0.1:65536/hooks"]],
  [["target_port_zero"], ["http://127.0.0.1:0/", "http://localhost:0/hooks"]],
  [
    ["target_is_sandbox"],
    [
      "http://localhost:4242/v1/orders",
      "http://127.0.0.1:4242/",
      "http://127.0.0.9:4242/",
      "http://[::1]:4242/",
    ],
  ],
];

test("this machine and allowed hosts can be webhook targets", () => {
  for (const [url, port, addresses] of ALLOWED) {
    const value = { url: new URL(url).href, host: new URL(url).hostname, port, addresses };
    expect(parseTarget(url, POLICY)).toEqual({ ok: true, value });
  }
});

test("a webhook address has at most 2,048 characters", () => {
  const start = "http://localhost/";
  const long = (length: number): string => start + "a".repeat(length - start.length);
  expect(parseTarget(long(2048), POLICY)).toMatchObject({ ok: true, value: { url: long(2048) } });
  expect(parseTarget(long(2049), POLICY)).toMatchObject({ refusal: { code: "invalid_parameter" } });
});

test("every address except this machine and allowed hosts is refused as a webhook target, in any spelling", () => {
  const all = FORBIDDEN.flatMap(([facts, urls]) => urls.map((url) => [url, facts] as const));
  expect(all.length).toBeGreaterThanOrEqual(70);
  for (const [url, facts] of all) {
    const target = parseTarget(url, POLICY);
    expect([url, target.ok ? "accepted" : target.refusal.told?.fact]).toEqual([url, expect.toBeOneOf(facts)]);
  }
});

function targetOf(url: string): DeliveryTarget {
  const parsed = parseTarget(url, POLICY);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return parsed.value;
}

test("an allowed host name keeps its resolved addresses, except the sandbox's own address and addresses that no receiver can have", () => {
  const target = targetOf("http://shop.test:4242/hooks");
  const rows: readonly (readonly [readonly string[], readonly string[] | false])[] = [
    [["192.168.1.20"], ["192.168.1.20"]],
    [
      ["93.184.216.34", "2606:2800:220:1::1"],
      ["93.184.216.34", "2606:2800:220:1::1"],
    ],
    [["169.254.169.254"], false],
    [["fe80::1"], false],
    [["::ffff:169.254.169.254"], false],
    [["0.0.0.0"], false],
    [["::"], false],
    [["255.255.255.255"], false],
    [["224.0.0.1"], false],
    [["ff02::1"], false],
    [["240.0.0.1"], false],
    [["127.0.0.1"], false],
    [["::1"], false],
    [["::ffff:127.0.0.1"], false],
    ...METADATA.map((address) => [[address], false] as const),
    // These addresses embed an IPv4 address.
    ...["64:ff9b::a00:5", "::ffff:0:a00:5", "2002:a00:5::1", "2001::1"].map(
      (address) => [[address], false] as const,
    ),
    [["::ffff:10.0.0.5"], ["::ffff:10.0.0.5"]],
    [["fd00:ec2::254", "10.0.0.5", "100.100.100.200"], ["10.0.0.5"]],
    [
      ["100.100.100.201", "fd12:3456::1"],
      ["100.100.100.201", "fd12:3456::1"],
    ],
    [["nonsense"], false],
    ...["127.1", "010.0.0.5", "0xa.0.0.5", "167772165", "10.5", "::10.0.0.5", "::ffff:010.0.0.5"].map(
      (address) => [[address], false] as const,
    ),
    ...["1::ffff:10.0.0.5", "::ffff:10.0.0.5x"].map((address) => [[address], false] as const),
    [[], false],
    [["169.254.1.1", "10.0.0.5"], ["10.0.0.5"]],
  ];
  for (const [resolved, expected] of rows) {
    const addresses = filterAddresses(target, resolved, POLICY);
    expect([resolved, addresses.ok && addresses.value]).toEqual([resolved, expected]);
  }
});

test("an allowed host name may resolve to loopback, except for the sandbox's own port, and a refusal names the resolved addresses", () => {
  const loopback = ["127.0.0.1", "::1"];
  const rows: readonly (readonly [url: string, resolved: readonly string[], expected: unknown])[] = [
    ["http://shop.test:8080/", loopback, { ok: true, value: loopback }],
    ["http://localhost:8080/", ["10.0.0.5"], { ok: true, value: loopback }],
    ["http://shop.test:4242/", loopback, "127.0.0.1, ::1"],
    ["http://shop.test:8080/", [], expect.any(String)],
  ];
  for (const [url, resolved, expected] of rows) {
    const refused = {
      ok: false,
      refusal: {
        code: "invalid_parameter",
        told: { fact: "target_resolves", values: { host: "shop.test", addresses: expected } },
        chinese: expect.stringMatching(/\p{Script=Han}/u),
      },
    };
    const allowed = filterAddresses(targetOf(url), resolved, POLICY);
    if (Object.hasOwn(Object(expected) as object, "ok")) expect(allowed).toEqual(expected);
    else expect(allowed).toMatchObject(refused);
  }
});

test("--allow-target takes a host as in a URL, in any letter case, and a refusal says what is wrong", () => {
  const taken = ["shop.test", "Shop.TEST", "a", "shop-1.test", "10.1.2.3", "127.0.0.1", "[::1]", "[fd12::1]"];
  for (const host of taken) expect(parseTargetHost(host)).toEqual({ ok: true, value: host.toLowerCase() });
  const rows: readonly (readonly [fact: FactName, hosts: readonly string[]])[] = [
    ["target_host_form", ["", "_a", "shop-", "-a", "a.", "a..b", "a:80", "::1", "[::1]:80"]],
    ["target_host_form", ["1.2.3.4.5", "[1::2::3]"]],
    ["host_spelling", ["127.1", "0x7f.0.0.1", "[0::1]"]],
    ["target_never", ["0.0.0.0", "0", "[::]", "[fe80::1]", "169.254.169.254"]],
  ];
  for (const [fact, hosts] of rows) {
    for (const host of hosts)
      expect([host, parseTargetHost(host)]).toMatchObject([
        host,
        { ok: false, refusal: { code: "invalid_parameter", told: { fact } } },
      ]);
  }
  expect(parseTargetHost("127.1")).toMatchObject({
    refusal: { told: { values: { host: '"127.1"', meant: "127.0.0.1" } } },
  });
});

test("sandbox start and listen refuse --allow-target with a forbidden address, in any spelling", async () => {
  const harness = createHarness();
  const spelled =
    "0.0.0.0 0 0.0 0x0 00.0x0.0 [::] [::0] [0:0:0:0:0:0:0:0] [::ffff:0.0.0.0] 169.254.169.254 0xa9fea9fe 2852039166 [::ffff:a9fe:a9fe] 255.255.255.255 224.0.0.1";
  const metadata = METADATA.map((address) => (address.includes(":") ? `[${address}]` : address));
  const never = [...spelled.split(" "), ...metadata];
  for (const host of never) {
    for (const command of [
      ["sandbox", "start", "--port", "0", "--allow-target", `shop.test,${host}`],
      ["listen", "--allow-target", host],
    ]) {
      const { code, stderr } = await harness.run(command);
      expect([host, code, stderr]).toEqual([host, 2, expect.stringMatching(refusalText("target_never"))]);
    }
  }
  for (const host of ["127.1", "10.1", "[::0001]", "1.2.3.4.5", "::", "a..b", "shop.test:80", ""]) {
    const { code } = await harness.run(["listen", "--allow-target", host]);
    expect([host, code]).toEqual([host, 2]);
  }
});

test("no connection is opened to a forbidden target, even after a name resolves to another address", async () => {
  const site = await openWebhookSite(["--allow-target", "shop.test"]);
  const shop = site.receiver(8080);
  const connected: string[] = [];
  site.harness.setFault((request, pass) => {
    if (request.method === "POST" && request.addresses !== undefined)
      connected.push(request.addresses.join(","));
    return pass();
  });
  for (const [, urls] of FORBIDDEN) {
    for (const url of urls)
      expect([url, (await site.control("/endpoints", { url })).error?.code]).toEqual([
        url,
        "invalid_parameter",
      ]);
  }
  site.harness.name("shop.test", ["192.168.1.20"]);
  const { id } = await site.addEndpoint("http://shop.test:8080/hooks", ["order.created"]);
  await site.order();
  await site.advance(1);
  site.harness.name("shop.test", ["169.254.169.254"]);
  await site.order();
  await site.advance(1);
  site.harness.name("shop.test", []);
  await site.order();
  await site.advance(1);
  expect(connected).toEqual(["192.168.1.20"]);
  expect(shop.got).toHaveLength(1);
  const told = (await site.deliveries(`?endpoint_id=${id}`)).map(({ attempts }) =>
    attempts.map(({ status, error }) => status ?? error),
  );
  expect(told).toEqual([["unreachable"], ["target_forbidden"], [200]]);
});

test("patterns of event types match the expected types, and a pattern that matches none is refused", () => {
  const rows = [
    ["*", "order.created", true],
    ["order.*", "order.created", true],
    ["order.*", "checkout_session.created", false],
    ["order.created", "order.created", true],
    ["order.created", "order.creator", false],
    ["*", "webhook.test", true],
  ] as const;
  for (const [pattern, type, expected] of rows)
    expect([pattern, type, matchesEventPatterns([pattern], type)]).toEqual([pattern, type, expected]);
  expect(EVENT_TYPES).toHaveLength(13);
  const refused = (patterns: readonly string[]): boolean => !parseEventTypes(patterns).ok;
  expect([["*"], ["order.*", "webhook.test"]].map(refused)).toEqual([false, false]);
  const wrong = [
    [],
    [""],
    ["order"],
    ["order."],
    ["*.created"],
    ["order.paid"],
    ["orders.*"],
    ["ORDER.*"],
    ["order.* "],
    ["**"],
  ];
  expect(wrong.filter((patterns) => !refused(patterns))).toEqual([]);
});

test("the refusal of a webhook address without a scheme suggests the address with http://", () => {
  const insteadOf = (text: string): unknown => {
    const parsed = parseTarget(text, POLICY);
    return parsed.ok ? "accepted" : parsed.refusal.told?.values["instead"];
  };
  for (const text of [
    "localhost:3000",
    "localhost:3000/hooks",
    "127.0.0.1:3000/",
    "shop.test",
    "[::1]:3000/h",
  ])
    expect([text, insteadOf(text)]).toEqual([text, `"http://${text}"`]);
  expect(insteadOf("/hooks")).toBe('"http://localhost:3000/hooks"');
  for (const text of ["javascript:alert(1)", "ftp://localhost/", "mailto:me", "", "//localhost:3000"])
    expect([text, insteadOf(text)]).toEqual([text, undefined]);
});
