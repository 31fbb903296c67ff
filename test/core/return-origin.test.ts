import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPart } from "../../src/core/fact.ts";
import type { Outcome, Refusal } from "../../src/core/outcome.ts";
import type { PartName } from "../../src/core/refusals/parts.ts";
import { parseReturnOrigin, parseReturnPath, returnAddress } from "../../src/core/checkout/return-origin.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openStore } from "../../src/store/store.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED } from "../support/campaign.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { insertion, expression } from "../support/rows.ts";

const LABEL_63 = "a".repeat(63);
const HOST_253 = `${`${LABEL_63}.`.repeat(3)}${"a".repeat(61)}`;

const GOOD = [
  "https://shop.example",
  "https://shop.example:8443",
  "https://shop.example:80",
  "https://a.b",
  "https://www.shop-1.co.example",
  "https://1shop.example",
  "https://shop.0example",
  "https://localhost",
  "https://localhost:3000",
  "https://127.0.0.1:8443",
  "https://[::1]:8443",
  "https://shop.localhost:3000",
  "https://shop.example:1",
  "https://shop.example:65535",
  `https://${LABEL_63}.example`,
  `https://${HOST_253}`,
  "http://localhost",
  "http://localhost:3000",
  "http://localhost:443",
  "http://127.0.0.1",
  "http://127.0.0.1:3000",
  "http://[::1]",
  "http://[::1]:3000",
];

/** Refused origins, by the broken rule. */
const REFUSED: Readonly<Partial<Record<PartName, readonly string[]>>> = {
  with_scheme: [
    "",
    "shop.example",
    "shop.example:8443",
    "localhost:3000",
    "//shop.example",
    "https:shop.example",
    "https:/shop.example",
    "http:localhost:3000",
    "://shop.example",
    "javascript:alert(1)",
    "javascript://shop.example/%0aalert(1)",
    "data:text/html,hello",
    "file:///etc/passwd",
    "ftp://shop.example",
    "ws://localhost:3000",
    "wss://shop.example",
    "blob:https://shop.example/0199a3c4",
    "filesystem:https://shop.example/a",
    "about:blank",
    "shop-app://return",
    "httpss://shop.example",
    "xhttps://shop.example",
    "view-source:https://shop.example",
  ],
  not_null: ["null"],
  https_elsewhere: [
    "http://shop.example",
    "http://shop.example:8080",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "http://shop.localhost:3000",
  ],
  no_user: [
    "https://user@shop.example",
    "https://user:hunter2@shop.example",
    "https://@shop.example",
    "https://:@shop.example",
    "https://shop.example@evil.example",
    "http://localhost:3000@evil.example",
    "https://shop.example:443@evil.example:8443",
    "https://shop.example%2f@evil.example",
  ],
  port_or_no_colon: ["https://shop.example:", "http://localhost:", "http://[::1]:"],
  port_digits: [
    "https://shop.example:8443x",
    "https://shop.example:+443",
    "https://shop.example:-1",
    "https://shop.example:0x50",
    "https://shop.example:8443:8443",
  ],
  port_range: [
    "https://shop.example:0",
    "http://localhost:65536",
    "https://shop.example:99999999999999999999",
    "http://localhost:00",
  ],
  port_without_zeros: ["https://shop.example:0443", "http://localhost:03000"],
  no_default_port: [
    "https://shop.example:443",
    "http://localhost:80",
    "http://127.0.0.1:80",
    "http://[::1]:80",
  ],
  no_slash_at_end: ["https://shop.example/", "http://localhost:3000/", "http://[::1]:3000/"],
  no_path: [
    "https://shop.example/return",
    "https://shop.example,https://evil.example",
    "https://shop.example//",
    "https://shop.example/.",
  ],
  no_query: ["https://shop.example?", "https://shop.example?order_id=1"],
  no_fragment: ["https://shop.example#", "https://shop.example#@evil.example"],
  no_backslash: [
    "https://shop.example\\",
    "https:\\\\shop.example",
    "https://shop.example\\@evil.example",
    "https://evil.example\\.shop.example",
  ],
  no_percent_in_host: [
    "https://shop%2eexample",
    "https://shop.example%2f",
    "https://shop.example%5c.evil.example",
    "https://shop.example%00",
    "https://%6cocalhost",
  ],
  no_space: [
    " https://shop.example",
    "https://shop.example ",
    "https://shop.example\n",
    "https://shop.example\r\nLocation: https://evil.example",
    "https://shop\t.example",
    "https://shop.\nexample",
    "ht\ntps://shop.example",
    "https://shop.example\u0000.evil.example",
    "\u001bhttps://shop.example",
    "https://shop.example\u007f",
    "https://shop\u00a0.example",
    "\ufeffhttps://shop.example",
    "https://shop.example\u2028",
    "https://shop.example\u0085",
  ],
  lower_case: [
    "HTTPS://shop.example",
    "Https://shop.example",
    "https://Shop.example",
    "http://LOCALHOST:3000",
  ],
  no_dot_at_end: ["https://shop.example.", "https://localhost.", "https://shop.example.:8443", "https://."],
  no_wildcard: ["*", "https://*", "https://*.shop.example", "https://shop.*", "https://shop.example:*"],
  plain_ascii: [
    "https://müller.example",
    "https://shоp.example",
    "https://shop。example",
    "https://ｓhop.example",
    "https://shop.example／evil",
    "https://shop\u200b.example",
    "https://shop\u202e.example",
    "https://sh\u00adop.example",
    "http://⑫7.0.0.1",
    "https://店.example",
    "https://shop.example\ud800",
  ],
  no_punycode: ["https://xn--mller-kva.example", "https://shop.xn--fiqs8s", "https://xn--a.example"],
  no_ipv4: [
    "https://192.168.1.5",
    "http://192.168.1.5:3000",
    "https://10.0.0.1",
    "http://172.16.0.1",
    "http://169.254.169.254",
    "https://8.8.8.8",
    "http://0.0.0.0:3000",
    "http://127.0.0.2",
    "https://255.255.255.255",
  ],
  no_number_at_end: [
    "http://0177.0.0.1",
    "http://127.0.0.01",
    "http://0x7f.0.0.1",
    "http://0x7f000001",
    "http://2130706433",
    "http://127.1:3000",
    "http://127.0.1",
    "http://0",
    "https://256.1.1.1",
    "https://1.2.3.4.5",
    "https://shop.0x1",
    "https://shop.123",
  ],
  no_ipv6: [
    "https://[2001:db8::1]",
    "http://[fe80::1]",
    "http://[fe80::1%25eth0]:3000",
    "http://[::1%25lo]",
    "http://[::]",
    "http://[0:0:0:0:0:0:0:1]:3000",
    "http://[::01]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "https://[]",
    "https://[v1.a]",
    "http://[::1",
    "http://[::1]evil.example",
  ],
  no_empty_label: ["https://.shop.example", "https://shop..example"],
  label_length: [`https://a${LABEL_63}.example`, `https://shop.a${LABEL_63}`],
  host_length: [`http://${HOST_253}a`],
  length: [`https://a${HOST_253}a`, `https://${HOST_253}:8443`, `https://shop.example/${"a".repeat(16_000)}`],
  named_host: [
    "https://",
    "https:///shop.example",
    "https:////shop.example",
    "https://:8443",
    "https://?a",
    "http://#",
    "http://::1",
  ],
  host_characters: [
    "https://my_shop.example",
    "https://-shop.example",
    "https://shop-.example",
    "https://shop,evil.example",
    "https://shop;.example",
    "https://<b>.example",
    'https://shop".example',
    "https://shop'.example",
  ],
  dotted_host: [
    "https://intranet",
    "https://intranet:8443",
    "http://intranet",
    "https://localhost3000",
    "http://localhosts:3000",
  ],
};

/** Refused origins and the suggested origin; undefined if the message suggests only an example. */
const INSTEAD: readonly (readonly [typed: string, instead: string | undefined])[] = [
  ["https://shop.example/", "https://shop.example"],
  ["https://shop.example:443/return?a=1", "https://shop.example"],
  ["https://Shop.example", "https://shop.example"],
  ["http://localhost:03000", "http://localhost:3000"],
  ["http://127.1:3000", "http://127.0.0.1:3000"],
  ["http://shop.example", undefined],
  ["https://shop.example@evil.example", undefined],
  ["https://shop.example\\.evil.example", undefined],
  ["https://shop。example", undefined],
  ["https://shop%2eexample", undefined],
  ["https://192.168.1.5/", undefined],
];
const EXAMPLE = createPart("example_origin", {});

/** Parts of good and bad addresses. */
const PARTS =
  "http https : // / localhost 127.0.0.1 [::1] shop .example . - _ 1 0 443 80 65535 x xn-- 0x @ ? # %2e \\ A é *"
    .split(" ")
    .concat(" ", "\t");

function refusalOf(outcome: Outcome<unknown>): Refusal {
  if (outcome.ok) throw new Error(`accepted: ${JSON.stringify(outcome.value)}`);
  return outcome.refusal;
}

test("a return origin is accepted as written if it is an https origin with a host name, or on this machine", () => {
  for (const text of GOOD) expect(parseReturnOrigin(text)).toEqual({ ok: true, value: text });
});

test("every invalid return origin is refused with the expected reason", () => {
  const rows = Object.entries(REFUSED).flatMap(([rule, texts]) => texts.map((text) => [rule, text] as const));
  expect(rows.length).toBeGreaterThanOrEqual(60);
  for (const [rule, text] of rows) {
    const { code, message, told } = refusalOf(parseReturnOrigin(text));
    expect([text, code, told]).toMatchObject([
      text,
      "invalid_parameter",
      { fact: "bad_return_origin", values: { rule: { fact: rule } } },
    ]);
    expect(message).not.toContain("hunter2");
    expect(message).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
    expect(message.length).toBeLessThan(400);
  }
});

test("the refusal of a return origin suggests the right origin, or only an example if the intended origin is unclear", () => {
  for (const [typed, instead = EXAMPLE] of INSTEAD) {
    expect([typed, refusalOf(parseReturnOrigin(typed)).told?.values["instead"]]).toEqual([typed, instead]);
  }
});

test("browsers leave an accepted return origin unchanged", () => {
  const part = fc.constantFrom(...PARTS);
  const text = fc.oneof(
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.array(part, { maxLength: 6 }).map((parts) => `https://${parts.join("")}`),
    fc.array(part, { maxLength: 4 }).map((parts) => `http://localhost${parts.join("")}`),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.string({ unit: ANY_CHARACTER }).map((host) => `https://${host}`),
  );
  const check = fc.property(text, (typed) => {
    const parsed = parseReturnOrigin(typed);
    if (!parsed.ok) return;
    const { origin, protocol, hostname, href } = new URL(parsed.value);
    expect([parsed.value, origin, href]).toEqual([typed, typed, `${typed}/`]);
    expect(hostname).not.toMatch(/(^|\.)xn--|^[\d.]+$(?<!^127\.0\.0\.1)/);
    if (protocol !== "https:") expect(["localhost", "127.0.0.1", "[::1]"]).toContain(hostname);
  });
  fc.assert(check, { seed: SEED, numRuns: 20_000 });
});

test("the table return_origins accepts every origin and path that the core accepts, and refuses some that the core refuses", () => {
  const opened = openDatabase(join(tempFolder(), "sandbox.db"), { kind: SANDBOX_FILE });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.exec(insertion("merchants") + insertion("stores"));
  const insert = connection.prepare<[string]>(insertion("return_origins", { origin: expression("?") }));
  for (const origin of GOOD) insert.run(origin);
  const refused = [
    "https://shop.example/",
    "https://shop.example?",
    "https://user@shop.example",
    "https://Shop.example",
    "https://shop.example:",
    "http://shop.example",
    "http://localhost.example",
    "http://localhost:3000x",
    "http://localhost:03000",
    "javascript:alert(1)",
    "null",
    "https://shop.example\n",
    `https://${"a".repeat(300)}.example`,
  ];
  for (const origin of refused) expect(() => insert.run(origin), origin).toThrow(/CHECK/);
  const setPath = connection.prepare<[string]>("UPDATE return_origins SET path = ?");
  for (const path of GOOD_PATHS) setPath.run(path);
  for (const path of Object.values(REFUSED_PATHS).flat()) {
    if (!parseReturnPath(path).ok && !SPELLED_OTHERWISE.has(path))
      expect(() => setPath.run(path), path).toThrow(/CHECK/);
  }
  connection.close();
});

test("a store lists only its own return origins, and an origin that is added again keeps its position and time", async () => {
  const path = join(tempFolder(), "sandbox.db");
  const scheduler = {
    soon: (run: () => void) => void setImmediate(run),
    after: (ms: number, run: () => void) => void setTimeout(run, ms),
  };
  const opened = openStore(path, { nativeBinding: undefined, scheduler });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const { stores, returnOrigins, write, close } = opened.value;
  await write(() => stores.insertMerchant({ id: "m", name: "m", createdAt: 1 }));
  await write(() => stores.insert({ id: "s", merchantId: "m", name: "s", createdAt: 1 }));
  expect(returnOrigins.list("s")).toEqual([]);
  const [one, other] = ["https://shop.example", "https://other.example"].map((origin) => ({
    origin,
    path: "/thanks",
  }));
  if (one === undefined || other === undefined) throw new Error("there are two");
  for (const origin of [one, other])
    await write(() => returnOrigins.put({ ...origin, storeId: "s", createdAt: 1 }));
  expect([returnOrigins.list("s"), returnOrigins.list("t")]).toEqual([[one, other], []]);
  // The existing origin keeps its position and time, and gets the path.
  await write(() => returnOrigins.put({ ...one, path: "/back", storeId: "s", createdAt: 2 }));
  expect(returnOrigins.listWithTimes("s")).toEqual([
    { ...one, path: "/back", storeId: "s", createdAt: 1 },
    { ...other, storeId: "s", createdAt: 1 },
  ]);
  close();
});

const GOOD_PATHS = [
  "/",
  "/thanks",
  "/thanks/",
  "/a//b",
  "/danke%20sch%C3%B6n",
  "/a;b=c,d/~e!$&'()*+:@-._",
  "/...",
  `/${"a".repeat(255)}`,
];

/** Refused paths, by the broken rule. */
const REFUSED_PATHS: Readonly<Partial<Record<PartName, readonly string[]>>> = {
  leading_slash: ["", "thanks", "https://evil.example/", "javascript:alert(1)", "@evil.example", ".evil"],
  one_slash: ["//evil.example", "//"],
  path_without_query: ["/?", "/thanks?status=paid", "/?order_id=1"],
  no_fragment: ["/#", "/thanks#paid"],
  no_backslash: ["/\\evil.example", "\\\\evil.example"],
  no_space: [" /", "/a b", "/a\n", "/\t", "/\r\nLocation: x", "/a\u0000"],
  encoded_ascii: ["/danke-schön", "/\u202e", "/\ud800"],
  length: [`/${"a".repeat(256)}`],
  path_as_browsers_write: ["/a/../b", "/./b", "/%2e/b", "/a/%2E%2e/b", '/"', "/<b>", "/{id}"],
};
/** Paths that only the parser refuses, not the table. */
const SPELLED_OTHERWISE = new Set(REFUSED_PATHS.path_as_browsers_write);

test("a return path is accepted as browsers write it, and any other path is refused with the expected reason", () => {
  for (const path of GOOD_PATHS) expect(parseReturnPath(path)).toEqual({ ok: true, value: path });
  for (const [rule, paths] of Object.entries(REFUSED_PATHS)) {
    for (const path of paths) {
      const { message, told } = refusalOf(parseReturnPath(path));
      expect([path, told]).toMatchObject([
        path,
        { fact: "bad_return_path", values: { rule: { fact: rule } } },
      ]);
      expect(message).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
    }
  }
});

test("an accepted return path leads to its registered origin and to no other origin", () => {
  const part = fc.constantFrom(..."/ // . .. %2e a @ : ? # \\ é ; * % %00 http:// evil.example".split(" "));
  const text = fc.oneof(
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.array(part, { maxLength: 8 }).map((parts) => `/${parts.join("")}`),
    fc.string({ unit: ANY_CHARACTER }).map((rest) => `/${rest}`),
  );
  const checkout = { orderId: "order 1", id: "0199a3c4-5d00-7000-8000-000000000001" };
  const check = fc.property(text, fc.constantFrom(...GOOD), (path, origin) => {
    const parsed = parseReturnPath(path);
    if (!parsed.ok) return;
    const url = new URL(returnAddress({ origin, path: parsed.value }, checkout));
    expect([url.origin, url.pathname, url.hash]).toEqual([origin, path, ""]);
    expect([...url.searchParams.keys()]).toEqual(["order_id", "session_id"]);
  });
  fc.assert(check, { seed: SEED, numRuns: 20_000 });
});

test("a return URL has the order_id and the session_id, and never a status", () => {
  const address = returnAddress(
    { origin: "https://shop.example:8443", path: "/thanks" },
    {
      orderId: "Köln & 1/2?#=%+\u2028",
      id: "0199a3c4-5d00-7000-8000-000000000001",
    },
  );
  expect(address).toBe(
    "https://shop.example:8443/thanks?order_id=K%C3%B6ln%20%26%201%2F2%3F%23%3D%25%2B%E2%80%A8&session_id=0199a3c4-5d00-7000-8000-000000000001",
  );
  const { searchParams, origin } = new URL(address);
  expect(origin).toBe("https://shop.example:8443");
  expect([...searchParams]).toEqual([
    ["order_id", "Köln & 1/2?#=%+\u2028"],
    ["session_id", "0199a3c4-5d00-7000-8000-000000000001"],
  ]);
});
