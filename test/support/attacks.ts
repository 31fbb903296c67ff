import * as fc from "fast-check";
import {
  BAD_REQUESTS,
  SLOW_REQUESTS,
  WRONG_IN_SEVERAL_WAYS,
  type Change,
} from "../real/bad-requests.table.ts";

/** Requests on one connection, the changes of their bytes, and the places where they are cut into segments. */
export type RawAttack = {
  readonly requests: readonly Change[];
  readonly edits: readonly Edit[];
  readonly cuts: readonly number[];
};

/** One change of the bytes; positions are fractions of the length. */
type Edit = (bytes: Buffer) => Buffer;

const GOOD: Change = { headers: { Connection: ["keep-alive"] } };
/** Changes that are drawn often; slow attacks are drawn rarely, because they find too little for their time. */
const CHANGES = [...BAD_REQUESTS, ...WRONG_IN_SEVERAL_WAYS].map(([, , change]) => change);

/** Texts that an edit inserts into a request; `{apiKey}` and `{host}` stand for the site's values. */
const TOKENS = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  "\r\n\r\n",
  "\r\n ",
  "0\r\n\r\n",
  "\u00ff",
  "%00",
  "%0d%0a",
  "../",
  "HTTP/1.0",
  "HTTP/2.0",
  "POST /v1/orders HTTP/1.1\r\n",
  "GET http://{host}/v1/orders HTTP/1.1\r\n",
  "Content-Length: 0\r\n",
  "Content-Length: +5\r\n",
  "Content-Length: 1, 1\r\n",
  "content-length:\t92\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding : chunked\r\n",
  "Transfer-Encoding: identity, chunked\r\n",
  "Transfer-Encoding:\u000bchunked\r\n",
  "transfer-encoding: CHUNKED\r\n",
  "Expect: 100-continue\r\n",
  "Upgrade: websocket\r\nConnection: Upgrade\r\n",
  "Connection: close\r\n",
  "Host: {host}\r\n",
  "Host: shop.example\r\n",
  "Authorization: Bearer {apiKey}\r\n",
  "Idempotency-Key: seeded-key-0001\r\n",
  "Idempotency-Key: another-key\r\n",
  "X-HTTP-Method-Override: DELETE\r\n",
  "Trailer: Idempotency-Key\r\n",
  '"order_id":"seeded-order",',
  "5;x=y\r\n",
  "ffffffffffffffff1\r\n",
];
const METHODS = [
  "GET",
  "HEAD",
  "PUT",
  "TRACE",
  "OPTIONS",
  "CONNECT",
  "post",
  "PoST",
  "POST\t",
  "PRI",
  "M-SEARCH",
];

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const at = (bytes: Buffer, place: number): number => Math.floor(place * (bytes.length + 1));

/** Replaces `length` bytes from `start` on. */
function spliced(bytes: Buffer, start: number, length: number, by: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(start + length)]);
}

/** The lines of the bytes, with one of them changed. */
function onLine(bytes: Buffer, place: number, change: (line: string) => readonly string[]): Buffer {
  const lines = bytes.toString("latin1").split("\r\n");
  const chosen = Math.floor(place * lines.length);
  return Buffer.from(
    lines.flatMap((line, index) => (index === chosen ? change(line) : [line])).join("\r\n"),
    "latin1",
  );
}

const EDIT: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(fraction, fc.nat(255)).map(([place, value]): Edit => {
    return (bytes) => spliced(bytes, at(bytes, place), 1, Uint8Array.of(value));
  }),
  fc.tuple(fraction, fc.constantFrom(...TOKENS)).map(([place, token]): Edit => {
    return (bytes) => spliced(bytes, at(bytes, place), 0, Buffer.from(token, "latin1"));
  }),
  fc.tuple(fraction, fc.constantFrom(...TOKENS)).map(([place, token]): Edit => {
    return (bytes) => onLine(bytes, place, (line) => [token.replace(/\r\n$/, ""), line]);
  }),
  fc.tuple(fraction, fc.nat(20)).map(([place, length]): Edit => {
    return (bytes) => spliced(bytes, at(bytes, place), length, Buffer.alloc(0));
  }),
  fc.tuple(fraction, fraction, fc.nat(60)).map(([from, to, length]): Edit => {
    return (bytes) =>
      spliced(bytes, at(bytes, to), 0, bytes.subarray(at(bytes, from), at(bytes, from) + length));
  }),
  fraction.map(
    (place): Edit =>
      (bytes) =>
        onLine(bytes, place, (line) => [line, line]),
  ),
  fraction.map(
    (place): Edit =>
      (bytes) =>
        onLine(bytes, place, () => []),
  ),
  fraction.map(
    (place): Edit =>
      (bytes) =>
        onLine(bytes, place, (line) => [line.toUpperCase()]),
  ),
  fraction.map(
    (place): Edit =>
      (bytes) =>
        onLine(bytes, place, (line) => [line.replace(":", " :")]),
  ),
  fraction.map(
    (place): Edit =>
      (bytes) =>
        onLine(bytes, place, (line) => [line.replace(/ (?=\S)/, "\r\n ")]),
  ),
  fc.constantFrom(...METHODS).map((method): Edit => {
    return (bytes) => onLine(bytes, 0, (line) => [line.replace(/^\S+/, method)]);
  }),
);

/** Up to two valid creates and a request that is mostly invalid, with up to four edits and up to six cuts. */
export const RAW_ATTACK: fc.Arbitrary<RawAttack> = fc.record({
  requests: fc
    .tuple(
      fc.nat(2),
      fc.oneof(
        { weight: 20, arbitrary: fc.constant(GOOD) },
        { weight: 79, arbitrary: fc.constantFrom(...CHANGES) },
        { weight: 1, arbitrary: fc.constantFrom(...SLOW_REQUESTS.map(([, , change]) => change)) },
      ),
    )
    .map(([before, last]) =>
      Array.from({ length: before + 1 }, (_, place) => (place === before ? last : GOOD)),
    ),
  edits: fc.array(EDIT, { maxLength: 4 }),
  cuts: fc.array(fraction, { maxLength: 6 }),
});

/** The bytes, cut into the segments of an attack. */
export function segmentsOf(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const places = [
    0,
    ...cuts.map((cut) => at(bytes, cut)).toSorted((one, other) => one - other),
    bytes.length,
  ];
  return places
    .slice(1)
    .map((end, index) => bytes.subarray(places[index] ?? 0, end))
    .filter((part) => part.length > 0);
}

type Octets = readonly [number, number, number, number];

const INTERESTING: readonly Octets[] = [
  [127, 0, 0, 1],
  [127, 8, 9, 10],
  [10, 1, 2, 3],
  [10, 0, 0, 1],
  [169, 254, 169, 254],
  [100, 100, 100, 200],
  [168, 63, 129, 16],
  [192, 168, 1, 20],
  [0, 0, 0, 0],
  [255, 255, 255, 255],
  [224, 0, 0, 1],
  [8, 8, 8, 8],
];
const octet = fc.nat(255);
const octets: fc.Arbitrary<Octets> = fc.oneof(
  fc.constantFrom(...INTERESTING),
  fc.tuple(octet, octet, octet, octet),
);

const number = (given: Octets): number => given.reduce((sum, part) => sum * 256 + part, 0);
const hex = (value: number, digits = 1): string => value.toString(16).padStart(digits, "0");
const groups = ([a, b, c, d]: Octets): string => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const wide = (text: string): string =>
  text.replace(/[!-~]/g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0));
const circled = (text: string): string =>
  text.replace(/[1-9]/g, (digit) => String.fromCodePoint(0x245f + Number(digit))).replaceAll("0", "⓪");
const encoded = (text: string): string => text.replace(/[\w]/g, (one) => `%${hex(one.charCodeAt(0), 2)}`);

/** Ways to write an IPv4 address, alone, in a name or inside an IPv6 address, and some fixed IPv6 addresses. */
const ADDRESS_SPELLINGS: readonly ((given: Octets) => string)[] = [
  (given) => given.join("."),
  (given) => given.map((part) => `0${part.toString(8)}`).join("."),
  (given) => given.map((part) => `0x${hex(part)}`).join("."),
  (given) => given.map((part, index) => (index % 2 === 0 ? part : `0x${hex(part)}`)).join("."),
  (given) => given.map((part) => String(part).padStart(3, "0")).join("."),
  (given) => String(number(given)),
  (given) => `0x${hex(number(given), 8)}`,
  (given) => `0${number(given).toString(8)}`,
  ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  (given) => `${given.join(".")}.`,
  (given) => `${given.join(".")}.nip.io`,
  (given) => wide(given.join(".")),
  (given) => given.join("。"),
  (given) => circled(given.join(".")),
  (given) => encoded(given.join(".")),
  (given) => `[::ffff:${given.join(".")}]`,
  (given) => `[::ffff:${groups(given)}]`,
  (given) => `[::FFFF:${groups(given)}]`,
  (given) => `[0:0:0:0:0:ffff:${groups(given)}]`,
  (given) => `[::${given.join(".")}]`,
  (given) => `[::${groups(given)}]`,
  (given) => `[::ffff:0:${groups(given)}]`,
  (given) => `[64:ff9b::${groups(given)}]`,
  (given) => `[64:ff9b:1::${groups(given)}]`,
  (given) => `[2002:${groups(given)}::]`,
  (given) => `[2001:0:${groups(given)}::]`,
  (given) => `[fe80::${groups(given)}]`,
  (given) => `[fe80::${groups(given)}%25lo]`,
  (given) => `[fd00:ec2::${hex(given[3])}]`,
  (given) => `[fd12:3456::${groups(given)}]`,
  (given) => `[ff02::${hex(given[3])}]`,
  () => "[::1]",
  () => "[::0001]",
  () => "[::1%25lo]",
  () => "[::]",
];

const NAMES = ["localhost", "shop.test", "metadata.google.internal"];
const NAME_SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => `${name}.`,
  (name) => wide(name),
  (name) => encoded(name),
  (name) => name.replace("o", "\u00ad"),
  (name) => `lo\u200bcal${name}`,
  (name) => name.replace("s", "ſ"),
  (name) => name.replace("o", "о"),
  (name) => `${name}.evil.example`,
  (name) => `evil-${name}`,
  (name) => `xn--${name}-`,
  (name) => `${name}%00.evil.example`,
  (name) => `${name},evil.example`,
  (name) => `${name}\t`,
];

/** A host in one of its spellings. */
export const SPELLED_HOST: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(octets, fc.constantFrom(...ADDRESS_SPELLINGS)).map(([given, spell]) => spell(given)),
  fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...NAME_SPELLINGS)).map(([name, spell]) => spell(name)),
);

/** An IP address as a resolver might return it: without brackets, with its zone. */
export const SPELLED_ADDRESS: fc.Arbitrary<string> = fc
  .tuple(octets, fc.constantFrom(...ADDRESS_SPELLINGS), fc.constantFrom("", "", "%lo", "%1"))
  .map(([given, spell, zone]) =>
    spell(given)
      .replace(/^\[(.*)\]$/, `$1${zone}`)
      .replace("%25", "%"),
  );

const or = (usual: string, ...others: string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );

/** A URL whose host has one of its spellings; its other parts are mostly plain. */
export const SPELLED_URL: fc.Arbitrary<string> = fc
  .tuple(
    or(
      "http://",
      "https://",
      "HTTP://",
      "http:/",
      "http:",
      "http:\\\\",
      "//",
      "ftp://",
      " http://",
      "http://\t",
    ),
    or("", "user@", "a:b@", "@", ":@", "127.0.0.1@", "localhost:80@", "localhost%00@", "shop.test\\@"),
    SPELLED_HOST,
    or("", ":3000", ":443", ":80", ":4242", ":04242", ":0", ":", ":99999", ":4242:80", ":٣", ":３"),
    or("", "/", "/hooks", "?a=1", "#f", "/@evil.example", "\\@evil.example", "/..//x", ";x", "/\u0000", "/é"),
  )
  .map((parts) => parts.join(""));
