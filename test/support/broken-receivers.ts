import { createHmac, timingSafeEqual } from "node:crypto";
import type { DrillCause } from "../../src/core/readiness/drills/webhook-advice.ts";
import { HEADERS } from "../../src/core/webhook/signature.ts";
import {
  digest,
  handmade,
  parse,
  right,
  telling,
  type Answer,
  type Incoming,
  type Receiver,
} from "./merchant-receivers.ts";

/** A wrong or cheating receiver, made anew for each shop, and the causes that the drill has to name, and no others. */
export type BrokenReceiver = {
  readonly name: string;
  readonly make: () => Receiver;
  readonly causes: readonly DrillCause[];
};

const isRight = (incoming: Incoming): boolean => right(incoming) === 204;

/** Compares the digits of some places. */
function comparing(...places: readonly (readonly [from: number, to?: number])[]): Receiver {
  const cut = (text: string): string => places.map(([from, to]) => text.slice(from, to)).join();
  return handmade({
    isSigned: ({ signature = "", over, rawBody }) => cut(signature) === cut(over(rawBody)),
  });
}

/** Right, but for a tolerance of its own; ages are seconds, with their sign. */
function fresh(isFresh: (age: number) => boolean): Receiver {
  return handmade({ isFresh });
}

/** Another secret than the endpoint has. */
function withSecret(secret: string | Uint8Array, receiver: Receiver): Receiver {
  return (incoming) => {
    const head = `${Number.isNaN(incoming.timestamp) ? "" : incoming.timestamp}.`;
    const over: Incoming["over"] = (text) =>
      createHmac("sha256", secret).update(head).update(text).digest("hex");
    // To the exported verifier a secret is a text without blanks.
    const isText = typeof secret === "string" && /^[!-~]+$/.test(secret);
    return isText ? receiver({ ...incoming, secret, over }) : handmade({})({ ...incoming, over });
  };
}

/** Verifies what `applies` to, and believes the rest. */
function only(applies: (incoming: Incoming) => boolean, believed: Answer = 200): Receiver {
  return (incoming) => (applies(incoming) ? right(incoming) : believed);
}

/** Takes each event once by some id. */
function once(idOf: (incoming: Incoming) => string, known: Answer, first: Answer = 200): Receiver {
  const seen = new Set<string>();
  return (incoming) => {
    if (!isGenuine(incoming)) return 400;
    const id = idOf(incoming);
    if (seen.has(id)) return known;
    seen.add(id);
    return first;
  };
}

const isGenuine = (incoming: Incoming): boolean => handmade({})(incoming) === 200;
const isReserialized = (incoming: Incoming): boolean =>
  incoming.signature === incoming.over(JSON.stringify(parse(incoming)));
const typeOf = ({ rawBody }: Incoming): string => {
  const [, type = ""] = /"type"\s*:\s*"([^"]*)"/.exec(rawBody.toString("utf8")) ?? [];
  return type;
};
const isOrderEvent = (incoming: Incoming): boolean => /^(?:order|checkout_session)\./.test(typeOf(incoming));
const hasHeader = ({ rawHeaders }: Incoming, ...names: readonly string[]): boolean =>
  names.some((name) => rawHeaders.includes(name));
const linesOf = ({ rawHeaders }: Incoming, name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === name);
const typeIn = (incoming: Incoming): string =>
  hasHeader(incoming, "Content-Type") ? headerOf(incoming, "Content-Type") : "";
const parseAny = ({ rawBody }: Incoming): object => JSON.parse(String(rawBody)) as object;
const macOf = (secret: string, texts: readonly (string | Uint8Array)[]): string => {
  const mac = createHmac("sha256", secret);
  for (const text of texts) mac.update(text);
  return mac.digest("hex");
};
const headerOf = ({ rawHeaders }: Incoming, name: string): string =>
  rawHeaders[rawHeaders.indexOf(name) + 1] ?? "";

const NO_VERIFICATION: readonly BrokenReceiver[] = [
  { name: "believes everything", make: () => () => 200, causes: ["takes_all"] },
  {
    name: "believes all that is an event",
    make: () => (incoming) => (parse(incoming).event_id === "" ? 400 : 200),
    causes: ["no_check", "parses_first"],
  },
  {
    name: "only looks whether there is a signature",
    make:
      () =>
      ({ signature }) =>
        signature ? 200 : 401,
    causes: ["presence_only"],
  },
  {
    name: "believes the sender's User-Agent",
    make: () => (incoming) => (headerOf(incoming, "User-Agent") === "checkout-sandbox" ? 200 : 403),
    causes: ["no_check"],
  },
  {
    name: "verifies the first, and believes the sender from then on",
    make: () => only(({ number }) => number === 0),
    causes: ["takes_all"],
  },
  {
    name: "verifies the first ten",
    make: () => only(({ number }) => number < 10),
    causes: ["verifies_sometimes"],
  },
  {
    name: "one of two processes has no secret, and verifies nothing",
    make: () => only(({ number }) => number % 2 === 0),
    causes: ["verifies_sometimes"],
  },
  {
    name: "the other of two processes",
    make: () => only(({ number }) => number % 2 === 1),
    causes: ["verifies_sometimes"],
  },
  {
    name: "verifies what has a signature",
    make: () => only(({ signature }) => signature !== undefined),
    causes: ["skips_without_header"],
  },
  {
    name: "verifies what has a signature that is not empty",
    make: () => only(({ signature }) => Boolean(signature)),
    causes: ["skips_without_header", "takes_empty_signature"],
  },
  {
    name: "verifies what has a timestamp",
    make: () => only(({ timestamp }) => !Number.isNaN(timestamp)),
    causes: ["skips_without_timestamp"],
  },
  {
    name: "verifies what has an event id",
    make: () => only((incoming) => hasHeader(incoming, HEADERS.eventId)),
    causes: ["skips_without_event_id"],
  },
  {
    name: "verifies what has any header of ours",
    make: () => only((incoming) => hasHeader(incoming, ...Object.values(HEADERS))),
    causes: ["skips_without_headers"],
  },
  {
    name: "verifies what has an event id or a timestamp",
    make: () => only((incoming) => hasHeader(incoming, HEADERS.eventId, HEADERS.timestamp)),
    causes: ["skips_without_headers"],
  },
  {
    name: "verifies what has an event id or a signature",
    make: () => only((incoming) => hasHeader(incoming, HEADERS.eventId, HEADERS.signature)),
    causes: ["skips_without_headers"],
  },
  {
    name: "verifies what has a timestamp or a signature",
    make: () => only((incoming) => hasHeader(incoming, HEADERS.timestamp, HEADERS.signature)),
    causes: ["skips_without_headers"],
  },
  {
    name: "verifies what the service's User-Agent sends",
    make: () => only((incoming) => headerOf(incoming, "User-Agent") === "checkout-sandbox"),
    causes: ["skips_by_sender"],
  },
  {
    name: "verifies JSON alone",
    make: () => only((incoming) => headerOf(incoming, "Content-Type").includes("json")),
    causes: ["skips_other_types"],
  },
  {
    name: "verifies all but what a form sends",
    make: () => only((incoming) => !headerOf(incoming, "Content-Type").includes("form")),
    causes: ["skips_other_types"],
  },
  {
    name: "verifies all but plain text",
    make: () => only((incoming) => headerOf(incoming, "Content-Type") !== "text/plain"),
    causes: ["skips_other_types"],
  },
  {
    name: "all of no signatures are right",
    make: () => (incoming) =>
      incoming.signature?.split(",").filter(Boolean).length === 0 ? 200 : right(incoming),
    causes: ["takes_empty_signature"],
  },
];

const SECRETS: readonly BrokenReceiver[] = [
  {
    name: "an unset second secret counts",
    make: () => (incoming) => (withSecret("", handmade({}))(incoming) === 200 ? 200 : right(incoming)),
    causes: ["takes_empty_secret"],
  },
  { name: "its only secret is empty", make: () => withSecret("", handmade({})), causes: ["secret_unset"] },
  {
    name: "another secret, and tells why",
    make: () => withSecret("whsec_another", telling),
    causes: ["wrong_secret"],
  },
  {
    name: "another secret, 401 without and 403 with a signature",
    make: () => (incoming) =>
      incoming.signature === undefined
        ? 401
        : withSecret("whsec_another", right)(incoming) === 204
          ? 200
          : 403,
    causes: ["wrong_secret"],
  },
  {
    name: "another secret, and says nothing",
    make: () => withSecret("whsec_another", right),
    causes: ["refuses_all"],
  },
  {
    name: "the secret without its beginning, and says nothing",
    make: () => (incoming) => withSecret(incoming.secret.replace("whsec_", ""), right)(incoming),
    causes: ["secret_spelled"],
  },
  {
    name: "expects another header, and tells so",
    make: () => () => ({ status: 401, text: "X-Signature is missing" }),
    causes: ["refuses_all"],
  },
];

const COMPARISONS: readonly BrokenReceiver[] = [
  { name: "compares the first 16 digits", make: () => comparing([0, 16]), causes: ["compares_prefix"] },
  { name: "compares the first 40 digits", make: () => comparing([0, 40]), causes: ["compares_prefix"] },
  { name: "compares all but the last digit", make: () => comparing([0, -1]), causes: ["compares_prefix"] },
  { name: "compares the last 8 digits", make: () => comparing([-8]), causes: ["compares_end"] },
  { name: "compares all but the first digit", make: () => comparing([1]), causes: ["compares_end"] },
  {
    name: "compares the first 40 and the last 8 digits",
    make: () => comparing([0, 40], [-8]),
    causes: ["compares_part"],
  },
  { name: "compares the middle", make: () => comparing([8, 56]), causes: ["compares_part"] },
  {
    name: "compares as much as there is",
    make: () =>
      handmade({ isSigned: ({ signature = "-", over, rawBody }) => over(rawBody).startsWith(signature) }),
    causes: ["compares_what_came"],
  },
  {
    name: "throws where the lengths differ",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) =>
          signature !== undefined && timingSafeEqual(Buffer.from(signature), Buffer.from(over(rawBody))),
      }),
    causes: ["throws_on_length"],
  },
  {
    name: "compares the whole header",
    make: () => (incoming) =>
      isGenuine(incoming) && incoming.signature === incoming.over(incoming.rawBody) ? 200 : 400,
    causes: ["one_signature"],
  },
  {
    name: "looks at the first of several signatures",
    make: () => (incoming) => right({ ...incoming, rawHeaders: onlySignature(incoming, 0) }),
    causes: ["one_signature"],
  },
  {
    name: "looks at the last of several signatures",
    make: () => (incoming) => right({ ...incoming, rawHeaders: onlySignature(incoming, -1) }),
    causes: ["one_signature"],
  },
];

function onlySignature({ rawHeaders, signature }: Incoming, at: number): string[] {
  return rawHeaders.map((text, index) =>
    rawHeaders[index - 1] === HEADERS.signature ? (signature?.split(",").at(at) ?? "") : text,
  );
}

const AGES: readonly BrokenReceiver[] = [
  { name: "no age is too old", make: () => fresh(() => true), causes: ["no_staleness_check"] },
  {
    name: "300,000 seconds for 300,000 milliseconds",
    make: () => fresh((age) => Math.abs(age) <= 300_000),
    causes: ["no_staleness_check"],
  },
  { name: "a future age is never too much", make: () => fresh((age) => age <= 300), causes: ["takes_ahead"] },
  { name: "no past is too old", make: () => fresh((age) => age >= -300), causes: ["takes_old"] },
  {
    name: "a tolerance of 59 minutes",
    make: () => fresh((age) => Math.abs(age) <= 3540),
    causes: ["wide_tolerance"],
  },
  {
    name: "a tolerance of 59 minutes for old ones",
    make: () => fresh((age) => age <= 3540 && age >= -300),
    causes: ["wide_tolerance"],
  },
  {
    name: "300 milliseconds for 300 seconds",
    make: () => fresh((age) => Math.abs(age * 1000) <= 300),
    causes: ["narrow_tolerance"],
  },
  {
    name: "a tolerance of 30 seconds",
    make: () => fresh((age) => Math.abs(age) <= 30),
    causes: ["narrow_tolerance"],
  },
  {
    name: "nothing from the future",
    make: () => fresh((age) => age >= 0 && age <= 300),
    causes: ["narrow_tolerance"],
  },
  {
    name: "a clock that is 7 minutes slow",
    make: () => fresh((age) => Math.abs(age - 420) <= 300),
    causes: ["clock_off"],
  },
  {
    name: "a clock that is an hour fast",
    make: () => fresh((age) => Math.abs(age + 3600) <= 300),
    causes: ["clock_off"],
  },
];

const BODIES: readonly BrokenReceiver[] = [
  {
    name: "verifies what it writes again",
    make: () => handmade({ isSigned: isReserialized }),
    causes: ["parsed_body", "parses_first"],
  },
  {
    name: "verifies what Python's json.dumps writes",
    make: () =>
      handmade({
        isSigned: (incoming) =>
          incoming.signature ===
          incoming.over(
            JSON.stringify(parse(incoming), null, 1)
              .replaceAll(/\n\s*/g, " ")
              .replaceAll("{ ", "{")
              .replaceAll(" }", "}"),
          ),
      }),
    causes: ["parsed_body", "parses_first"],
  },
  {
    name: "reads the body as Latin-1",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) => signature === over(rawBody.toString("latin1")),
      }),
    causes: ["decoded_body"],
  },
  {
    name: "trims the body",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) => signature === over(rawBody.toString("utf8").trim()),
      }),
    causes: ["decoded_body"],
  },
  {
    name: "parses before it verifies",
    make: () => (incoming) => (parse(incoming) ? right(incoming) : 400),
    causes: ["parses_first"],
  },
  {
    name: "remembers what verified by its timestamp alone",
    make: () => {
      const known = new Set<number>();
      return (incoming) => {
        if (isRight(incoming)) known.add(incoming.timestamp);
        return known.has(incoming.timestamp) ? 204 : 400;
      };
    },
    causes: ["no_check"],
  },
];

/** What a receiver may do with events of orders, although it verifies `webhook.test` right. */
const CARELESS_WITH_ORDERS: readonly (readonly [name: string, receiver: Receiver])[] = [
  ["believes those without a signature", only((incoming) => hasHeader(incoming, HEADERS.signature))],
  ["believes those with an empty signature", only(({ signature }) => signature !== "")],
  ["believes those without a timestamp", only((incoming) => hasHeader(incoming, HEADERS.timestamp))],
  ["believes those without an event id", only((incoming) => hasHeader(incoming, HEADERS.eventId))],
  [
    "believes those without a header of ours",
    only((incoming) => hasHeader(incoming, ...Object.values(HEADERS))),
  ],
  ["believes those in a form", only((incoming) => headerOf(incoming, "Content-Type").includes("json"))],
  ["has a tolerance of 59 minutes", fresh((age) => Math.abs(age) <= 3540)],
  ["compares 8 digits", comparing([0, 8])],
  ["compares the last 8 digits", comparing([-8])],
  ["compares all but the last digit", comparing([0, -1])],
  ["compares the first 40 and the last 8 digits", comparing([0, 40], [-8])],
  [
    "takes an unset secret for one",
    (incoming) => (withSecret("", handmade({}))(incoming) === 200 ? 200 : right(incoming)),
  ],
];

const EVENTS: readonly BrokenReceiver[] = [
  {
    name: "verifies webhook.test alone",
    make: () => only((incoming) => !isOrderEvent(incoming)),
    causes: ["skips_orders"],
  },
  {
    name: "verifies all but order.succeeded",
    make: () => only((incoming) => typeOf(incoming) !== "order.succeeded"),
    causes: ["skips_orders"],
  },
  {
    name: "verifies orders, and forgot sessions",
    make: () => only((incoming) => !typeOf(incoming).startsWith("checkout_session.")),
    causes: ["skips_orders"],
  },
  {
    name: "404 for an order that it does not know, and believes all about one that it does",
    make: () => {
      const known = new Set<string>();
      return (incoming) => {
        const type = typeOf(incoming);
        if (!type.startsWith("order.") && !type.startsWith("checkout_session.")) return right(incoming);
        const id = parse(incoming).data?.order_id ?? "";
        if (known.size === 0 && isRight(incoming)) known.add(id);
        return known.has(id) ? 200 : 404;
      };
    },
    causes: ["skips_orders"],
  },
  ...CARELESS_WITH_ORDERS.map(([name, receiver]): BrokenReceiver => ({
    name: `of orders alone: ${name}`,
    make: () => (incoming) => (isOrderEvent(incoming) ? receiver(incoming) : right(incoming)),
    causes: ["skips_orders"],
  })),
  {
    name: "fails on every order",
    make: () => (incoming) =>
      isRight(incoming) && typeOf(incoming).startsWith("order.") ? 500 : right(incoming),
    causes: ["refuses_orders"],
  },
  {
    name: "refuses types that it does not know, and tells so",
    make: () => (incoming) =>
      isRight(incoming) && typeOf(incoming) === "webhook.test"
        ? { status: 400, text: "unknown type" }
        : telling(incoming),
    causes: ["refuses_after_check"],
  },
  {
    name: "an event twice is 409",
    make: () => once((incoming) => parse(incoming).event_id, 409),
    causes: ["rejects_duplicates"],
  },
  {
    name: "an event twice is 500",
    make: () => once((incoming) => parse(incoming).event_id, 500),
    causes: ["rejects_duplicates"],
  },
  {
    name: "takes the id of an event from its header",
    make: () => once((incoming) => headerOf(incoming, HEADERS.eventId), { status: 200, text: "known" }),
    causes: ["believes_header"],
  },
  {
    name: "takes the id of an event from its header, and says it",
    make: () => {
      const seen = new Set<string>();
      return (incoming) => {
        if (!isGenuine(incoming)) return 401;
        const id = headerOf(incoming, HEADERS.eventId);
        const text = `${seen.has(id) ? "known" : "booked"} ${id}`;
        seen.add(id);
        return { status: 200, text };
      };
    },
    causes: ["believes_header"],
  },
];

const ANSWERS: readonly BrokenReceiver[] = [
  {
    name: "throws what it should refuse",
    make: () => (incoming) => {
      if (!isRight(incoming)) throw new Error("bad signature");
      return 200;
    },
    causes: ["throws_on_bad"],
  },
  { name: "500 to everything", make: () => () => 500, causes: ["fails_always"] },
  { name: "401 to everything", make: () => () => 401, causes: ["refuses_all"] },
  { name: "404 to everything", make: () => () => 404, causes: ["no_route"] },
  { name: "redirects to a final slash", make: () => () => 308, causes: ["redirects"] },
  { name: "429 to everything", make: () => () => 429, causes: ["rate_limited"] },
  {
    name: "429 after the twentieth",
    make: () => (incoming) => (incoming.number >= 20 ? 429 : right(incoming)),
    causes: ["rate_limited"],
  },
  {
    name: "verifies, and fails after it",
    make: () => (incoming) => (isRight(incoming) ? 503 : 400),
    causes: ["fails_after_check"],
  },
  {
    name: "blocks the sender after five forged ones",
    make: () => {
      let forged = 0;
      return (incoming) => {
        if (forged >= 5) return 403;
        const answer = right(incoming);
        if (answer === 400) forged += 1;
        return answer;
      };
    },
    causes: ["shuts_out"],
  },
  {
    name: "closes the connection instead of refusing",
    make: () => (incoming) => (isRight(incoming) ? 200 : "closed"),
    causes: ["drops_connection"],
  },
];

const CARRIED: readonly BrokenReceiver[] = [
  ...(
    [
      ["POST alone", "skips_methods", ({ method }) => method === "POST"],
      ["all but PATCH", "skips_methods", ({ method }) => method !== "PATCH"],
      ["what comes to its path without a query", "skips_paths", ({ target }) => !target.includes("?")],
      ["what comes to its path without a slash", "skips_paths", ({ target }) => !/\/(?:\?|$)/.test(target)],
      ["what comes to exactly its path", "skips_paths", ({ target }) => target === "/hooks"],
      ["what has a body", "skips_odd_bodies", ({ rawBody }) => rawBody.length > 0],
      ["all but a list", "skips_odd_bodies", ({ rawBody }) => !String(rawBody).startsWith("[")],
      ["all that is an object", "skips_odd_bodies", ({ rawBody }) => String(rawBody).startsWith("{")],
      ["the first 4 kB", "skips_large", ({ rawBody }) => rawBody.length <= 4096],
      ["the first 64 kB", "skips_large", ({ rawBody }) => rawBody.length <= 65_536],
      ["what has a length", "skips_encodings", (one) => !hasHeader(one, "Transfer-Encoding")],
      ["what is not compressed", "skips_encodings", (one) => !hasHeader(one, "Content-Encoding")],
      ["what has a content type", "skips_other_types", (one) => hasHeader(one, "Content-Type")],
      ["all but multipart", "skips_other_types", (one) => !typeIn(one).startsWith("multipart/")],
      ["all but octets", "skips_other_types", (one) => typeIn(one) !== "application/octet-stream"],
      ["all but JSON by a suffix", "skips_other_types", (one) => !typeIn(one).endsWith("+json")],
      ["all but JSON with a charset", "skips_other_types", (one) => !typeIn(one).includes("charset")],
      ["all but browsers", "skips_by_sender", (one) => !headerOf(one, "User-Agent").startsWith("Mozilla")],
      ["what has a User-Agent", "skips_by_sender", (one) => hasHeader(one, "User-Agent")],
      ["what has no Authorization", "skips_by_sender", (one) => !hasHeader(one, "Authorization")],
      ["what comes directly", "skips_by_sender", (one) => !hasHeader(one, "X-Forwarded-For")],
      ["types that it knows", "skips_by_content", (one) => !typeOf(one).endsWith(".refunded")],
      ["what is not live", "skips_by_content", ({ rawBody }) => !String(rawBody).includes('"livemode":true')],
    ] as const satisfies readonly (readonly [string, DrillCause, (incoming: Incoming) => boolean])[]
  ).map(([what, cause, applies]): BrokenReceiver => ({
    name: `verifies ${what}, and believes the rest`,
    make: () => only(applies, 204),
    causes: [cause],
  })),
  {
    name: "ignores other stores before it verifies",
    make: () => {
      let own = "";
      return (incoming) => {
        const [, store = ""] = /"store_id"\s*:\s*"([^"]*)"/.exec(String(incoming.rawBody)) ?? [];
        if (isRight(incoming) && own === "") own = store;
        return store === "" || store === own ? right(incoming) : 204;
      };
    },
    causes: ["skips_by_content"],
  },
  {
    name: "ignores orders that it does not know before it verifies",
    make: () => {
      const known = new Set<string>();
      return (incoming) => {
        if (!isOrderEvent(incoming)) return right(incoming);
        const id = parse(incoming).data?.order_id ?? "";
        if (isRight(incoming)) known.add(id);
        return known.has(id) ? right(incoming) : 200;
      };
    },
    causes: ["skips_orders"],
  },
  {
    name: "verifies the first request of each connection",
    make: () => {
      const verified = new Set<number>();
      return (incoming) => {
        if (verified.has(incoming.connection)) return 200;
        if (!isRight(incoming)) return 400;
        verified.add(incoming.connection);
        return 200;
      };
    },
    causes: ["once_a_connection"],
  },
  {
    name: "knows an event before it verifies it",
    make: () => {
      const known = new Set<string>();
      return (incoming) => {
        const [, id = ""] = /"event_id"\s*:\s*"([^"]*)"/.exec(String(incoming.rawBody)) ?? [];
        if (known.has(id)) return 200;
        const answer = right(incoming);
        if (answer === 204) known.add(id);
        return answer;
      };
    },
    causes: ["known_before_check"],
  },
  {
    name: "remembers which signatures were right",
    make: () => {
      const known = new Set<string>();
      return (incoming) => {
        const { signature = "" } = incoming;
        if (isRight(incoming)) known.add(signature);
        return known.has(signature) ? 204 : 400;
      };
    },
    causes: ["remembers_signature"],
  },
  {
    name: "verifies nine of ten",
    make: () => only(({ number }) => number % 10 !== 9),
    causes: ["verifies_sometimes"],
  },
  {
    name: "verifies three of four, as it happens",
    make: () => only(({ number }) => digest(String(number)) > "4"),
    causes: ["verifies_sometimes"],
  },
  {
    name: "verifies all but each fortieth",
    make: () => only(({ number }) => number % 40 !== 39),
    causes: ["verifies_sometimes"],
  },
];

const parsesFirst: ReadonlySet<string> = new Set(["the keys in their order", "what is indented"]);

/** Something else than the service signs, and the causes. */
const SIGNED_OTHERWISE: readonly BrokenReceiver[] = [
  ...(
    [
      ["the body alone", "signs_otherwise", ({ rawBody }) => [rawBody]],
      ["with a colon", "signs_otherwise", ({ timestamp, rawBody }) => [`${timestamp}:`, rawBody]],
      ["the body first", "signs_otherwise", ({ timestamp, rawBody }) => [rawBody, `.${timestamp}`]],
      [
        "the event id too",
        "signs_otherwise",
        (one) => [`${headerOf(one, HEADERS.eventId)}.${one.timestamp}.`, one.rawBody],
      ],
      ["[object Object]", "parsed_body", ({ timestamp }) => [`${timestamp}.[object Object]`]],
      ["no body at all", "parsed_body", ({ timestamp }) => [`${timestamp}.`]],
      [
        "the keys in their order",
        "parsed_body",
        (one) => [
          `${one.timestamp}.`,
          JSON.stringify(
            Object.fromEntries(
              Object.entries(parseAny(one)).toSorted(([left], [last]) => (left < last ? -1 : 1)),
            ),
          ),
        ],
      ],
      [
        "what is indented",
        "parsed_body",
        (one) => [`${one.timestamp}.`, JSON.stringify(parseAny(one), null, 2)],
      ],
      [
        "a line break behind it",
        "decoded_body",
        ({ timestamp, rawBody }) => [`${timestamp}.`, rawBody, "\n"],
      ],
    ] as const satisfies readonly (readonly [
      string,
      DrillCause,
      (incoming: Incoming) => readonly (string | Buffer)[],
    ])[]
  ).map(([what, cause, signed]): BrokenReceiver => ({
    name: `signs ${what}`,
    make: () =>
      handmade({ isSigned: (incoming) => incoming.signature === macOf(incoming.secret, signed(incoming)) }),
    causes: parsesFirst.has(what) ? [cause, "parses_first"] : [cause],
  })),
  ...(
    [
      ["decoded from base64", (secret: string) => Buffer.from(secret.replace("whsec_", ""), "base64")],
      ["with a line break", (secret: string) => `${secret}\n`],
      ["in quotes", (secret: string) => `"${secret}"`],
    ] as const
  ).map(([how, keyOf]): BrokenReceiver => ({
    name: `the secret ${how}`,
    make: () => (incoming) => withSecret(keyOf(incoming.secret), right)(incoming),
    causes: ["secret_spelled"],
  })),
  ...["undefined", "null", "None", "changeme", "http://localhost:3000/hooks"].map((text): BrokenReceiver => ({
    name: `${text} is among its secrets`,
    make: () => (incoming) => (withSecret(text, handmade({}))(incoming) === 200 ? 200 : right(incoming)),
    causes: ["takes_guessed_secret"],
  })),
  {
    name: "its only secret is the text undefined",
    make: () => withSecret("undefined", handmade({})),
    causes: ["secret_unset"],
  },
  {
    name: "the secret of a Go program that was not set, and the body's keys sorted",
    make: () => withSecret("changeme", handmade({})),
    causes: ["secret_unset"],
  },
];

const digitsOf = (text: string, at: number): string =>
  Array.from(text)
    .filter((_, index) => index % 2 === at)
    .join("");
const sumOf = (text: string): number =>
  Array.from(text).reduce((sum, digit) => sum + Number.parseInt(digit, 16), 0);
const sortedDigits = (text: string): string => Array.from(text).toSorted().join("");

const FORMS: readonly BrokenReceiver[] = [
  ...(
    [
      ["every other digit", "compares_part", (given, due) => digitsOf(given, 0) === digitsOf(due, 0)],
      ["every second digit", "compares_part", (given, due) => digitsOf(given, 1) === digitsOf(due, 1)],
      ["the sum of the digits", "compares_unordered", (given, due) => sumOf(given) === sumOf(due)],
      ["sorted digits", "compares_unordered", (given, due) => sortedDigits(given) === sortedDigits(due)],
      ["by a regular expression", "matches_patterns", (given, due) => new RegExp(`^${given}$`).test(due)],
      [
        "by a search with a regular expression",
        "matches_patterns",
        (given, due) => new RegExp(given).test(due),
      ],
      [
        "by LIKE",
        "matches_patterns",
        (given, due) => new RegExp(`^${given.replaceAll("%", ".*").replaceAll("_", ".")}$`).test(due),
      ],
      [
        "bytes, as many as came",
        "compares_what_came",
        (given, due) =>
          Buffer.from(due, "hex").toString("hex").startsWith(Buffer.from(given, "hex").toString("hex")),
      ],
      [
        "only what has the form of a signature",
        "takes_malformed_signature",
        (given, due) => !/^[0-9a-f]{64}$/.test(given) || given === due,
      ],
    ] as const satisfies readonly (readonly [string, DrillCause, (given: string, due: string) => boolean])[]
  ).map(([what, cause, isSame]): BrokenReceiver => ({
    name: `compares ${what}`,
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) =>
          signature !== undefined && isSame(signature, over(rawBody)),
      }),
    causes: [cause],
  })),
  {
    name: "looks at three signatures, and believes more",
    make: () => only(({ signature = "" }) => signature.split(",").length <= 3),
    causes: ["takes_malformed_signature"],
  },
  {
    name: "believes a signature that is too long",
    make: () => only(({ signature = "" }) => signature.length < 4096),
    causes: ["takes_malformed_signature"],
  },
  {
    name: "no age is larger than that of no number",
    make: () => fresh((age) => !(Math.abs(age) > 300)),
    causes: ["takes_malformed_timestamp"],
  },
  {
    name: "verifies one timestamp, and looks at the age of another",
    make: () => (incoming) => {
      const times = linesOf(incoming, HEADERS.timestamp);
      const isFresh = Math.abs(incoming.now / 1000 - Number(times.at(-1))) <= 300;
      return fresh(() => true)(incoming) === 200 && isFresh ? 200 : 400;
    },
    causes: ["reads_doubled_headers"],
  },
  {
    name: "verifies the last timestamp, and looks at the age of the first",
    make: () => (incoming) => {
      const [first, ...more] = linesOf(incoming, HEADERS.timestamp);
      const last = more.at(-1) ?? first ?? "";
      const isFresh = Math.abs(incoming.now / 1000 - Number(first)) <= 300;
      const over: Incoming["over"] = (text) => macOf(incoming.secret, [`${last}.`, text]);
      return fresh(() => isFresh)({ ...incoming, over }) === 200 ? 200 : 400;
    },
    causes: ["reads_doubled_headers"],
  },
  {
    name: "takes two lines of a signature for a list that it need not read",
    make: () => only((incoming) => linesOf(incoming, HEADERS.signature).length < 2),
    causes: ["reads_doubled_headers"],
  },
];

/** Cheats that know a drill by a mark: each verifies what has it, and believes all that a delivery may be. */
const CHEATS: readonly BrokenReceiver[] = (
  [
    ["closes its connection", "takes_all", (one) => headerOf(one, "Connection") === "close"],
    [
      "has its User-Agent before its type",
      "takes_all",
      ({ rawHeaders }) => rawHeaders.indexOf("User-Agent") < rawHeaders.indexOf("Content-Type"),
    ],
    [
      "has its signature before its timestamp",
      "presence_only",
      ({ rawHeaders }) => rawHeaders.indexOf(HEADERS.signature) < rawHeaders.indexOf(HEADERS.timestamp),
    ],
    [
      "says that nothing was before its second event",
      "skips_orders",
      (one) => !isOrderEvent(one) || /"sequence":[2-9],"previous_status":null/.test(String(one.rawBody)),
    ],
    [
      "has an order_id that begins with drill-",
      "skips_orders",
      (one) => !isOrderEvent(one) || String(one.rawBody).includes('"order_id":"drill-'),
    ],
    ["has an Accept header", "no_check", (one) => hasHeader(one, "Accept")],
  ] as const satisfies readonly (readonly [string, DrillCause, (incoming: Incoming) => boolean])[]
).map(([mark, cause, isDrill]): BrokenReceiver => ({
  name: `verifies what ${mark}`,
  make: () => only(isDrill),
  causes: [cause],
}));

/** Wrong receivers that no drill can see in its time, with the reason. */
export const UNSEEN_RECEIVERS: readonly {
  readonly name: string;
  readonly make: () => Receiver;
  readonly reason: string;
}[] = [
  {
    name: "of orders alone: looks at no age",
    make: () => (incoming) => (isOrderEvent(incoming) ? fresh(() => true)(incoming) : right(incoming)),
    reason:
      "only an event of an order that was accepted before is rightly signed, and one that knows it before it looks at its age accepts it too",
  },
  {
    name: "verifies all but one of a thousand",
    make: () => only(({ number }) => number % 1000 !== 999),
    reason: "a drill sends about 200 requests",
  },
];

/** Wrong and cheating receivers: the drill must pass none of them, and name the causes. */
export const BROKEN_RECEIVERS: readonly BrokenReceiver[] = [
  ...NO_VERIFICATION,
  ...SECRETS,
  ...COMPARISONS,
  ...AGES,
  ...BODIES,
  ...EVENTS,
  ...ANSWERS,
  ...CARRIED,
  ...SIGNED_OTHERWISE,
  ...FORMS,
  ...CHEATS,
];
