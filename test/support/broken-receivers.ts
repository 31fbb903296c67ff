import { createHmac, timingSafeEqual } from "node:crypto";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import {
  digest,
  handmade,
  headerLines,
  parse,
  right,
  telling,
  type Answer,
  type Incoming,
  type Receiver,
} from "./merchant-receivers.ts";

/** A wrong or cheating receiver; `make` creates a new one. The expected causes are in `broken.table.ts`. */
type BrokenReceiver = {
  readonly name: string;
  readonly make: () => Receiver;
};

const isRight = (incoming: Incoming): boolean => right(incoming) === 204;

/** Compares only these ranges of the signature's digits. */
function comparing(...places: readonly (readonly [from: number, to?: number])[]): Receiver {
  const cut = (text: string): string => places.map(([from, to]) => text.slice(from, to)).join();
  return handmade({
    isSigned: ({ signature = "", over, rawBody }) => cut(signature) === cut(over(rawBody)),
  });
}

/** Correct except for its tolerance; ages are in seconds, and negative for events from the future. */
function fresh(isFresh: (age: number) => boolean): Receiver {
  return handmade({ isFresh });
}

/** Verifies with another secret than the endpoint's. */
function withSecret(secret: string | Uint8Array, receiver: Receiver): Receiver {
  return (incoming) => {
    const head = `${Number.isNaN(incoming.timestamp) ? "" : incoming.timestamp}.`;
    const over: Incoming["over"] = (text) =>
      createHmac("sha256", secret).update(head).update(text).digest("hex");
    // The exported verifier accepts only a text without blanks as a secret.
    const isText = typeof secret === "string" && /^[!-~]+$/.test(secret);
    return isText ? receiver({ ...incoming, secret, over }) : handmade({})({ ...incoming, over });
  };
}

/** Verifies requests that `applies` selects, and trusts all others. */
function only(applies: (incoming: Incoming) => boolean, believed: Answer = 200): Receiver {
  return (incoming) => (applies(incoming) ? right(incoming) : believed);
}

/** Accepts each event once, identified by the text that `idOf` returns. */
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
/** The type of the event in a request; empty if there is none. */
export const typeOf = ({ rawBody }: Incoming): string => {
  const [, type = ""] = /"type"\s*:\s*"([^"]*)"/.exec(rawBody.toString("utf8")) ?? [];
  return type;
};
const isOrderEvent = (incoming: Incoming): boolean => /^(?:order|checkout_session)\./.test(typeOf(incoming));
const hasHeader = ({ rawHeaders }: Incoming, ...names: readonly string[]): boolean =>
  names.some((name) => headerLines(rawHeaders, name).length > 0);
const linesOf = ({ rawHeaders }: Incoming, name: string): readonly string[] => headerLines(rawHeaders, name);
const typeIn = (incoming: Incoming): string =>
  hasHeader(incoming, "Content-Type") ? headerOf(incoming, "Content-Type") : "";
const parseAny = ({ rawBody }: Incoming): object => JSON.parse(String(rawBody)) as object;
const macOf = (secret: string, texts: readonly (string | Uint8Array)[]): string => {
  const mac = createHmac("sha256", secret);
  for (const text of texts) mac.update(text);
  return mac.digest("hex");
};
const headerOf = ({ rawHeaders }: Incoming, name: string): string => headerLines(rawHeaders, name)[0] ?? "";

const DIGITS = 64;

/** Verifies with the secret that the body chooses; undefined: with the correct secret. */
function chosenBy(secretFor: (event: Readonly<Record<string, unknown>>) => string | undefined): Receiver {
  return (incoming) => {
    const secret = secretFor(readOrNone(incoming));
    return secret === undefined ? right(incoming) : withSecret(secret, handmade({}))(incoming);
  };
}

/** The event in a body; an empty event if the body holds none. */
function readOrNone(incoming: Incoming): Readonly<Record<string, unknown>> {
  try {
    return { ...parseAny(incoming) };
  } catch {
    return {};
  }
}

/** Compares with another signature of the correct text. */
function signing(by: (known: { readonly secret: string; readonly text: string }) => string): Receiver {
  return handmade({
    isSigned: ({ signature, secret, timestamp, rawBody }) =>
      signature === by({ secret, text: `${timestamp}.${rawBody.toString("utf8")}` }),
  });
}

/** Whether an event's `created_at` differs from the time now by at most this many seconds. */
function madeWithin(incoming: Incoming, seconds: number): boolean {
  const { created_at: at } = readOrNone(incoming);
  return Math.abs(incoming.now - Date.parse(String(at))) <= seconds * 1000;
}

const GUESSED_SECRETS: readonly string[] =
  "undefined,null,None,changeme,test,[object Promise],http://localhost:3000/hooks,NaN,whsec_,Checkout-Signature".split(
    ",",
  );

const NO_VERIFICATION: readonly BrokenReceiver[] = [
  { name: "believes everything", make: () => () => 200 },
  {
    name: "believes all that is an event",
    make: () => (incoming) => (parse(incoming).event_id === "" ? 400 : 200),
  },
  {
    name: "only looks whether there is a signature",
    make:
      () =>
      ({ signature }) =>
        signature ? 200 : 401,
  },
  {
    name: "refuses what verifies, and believes the rest",
    make: () => (incoming) => (isRight(incoming) ? 400 : 200),
  },
  {
    name: "refuses the right signature, and believes all others",
    make: () => handmade({ isSigned: ({ signature, over, rawBody }) => signature !== over(rawBody) }),
  },
  {
    name: "believes the sender's User-Agent",
    make: () => (incoming) => (headerOf(incoming, "User-Agent") === "checkout-sandbox" ? 200 : 403),
  },
  {
    name: "verifies the first, and believes the sender from then on",
    make: () => only(({ number }) => number === 0),
  },
  {
    name: "verifies the first ten",
    make: () => only(({ number }) => number < 10),
  },
  {
    name: "one of two processes has no secret, and verifies nothing",
    make: () => only(({ number }) => number % 2 === 0),
  },
  {
    name: "the other of two processes has no secret, and verifies nothing",
    make: () => only(({ number }) => number % 2 === 1),
  },
  {
    name: "verifies what has a signature",
    make: () => only(({ signature }) => signature !== undefined),
  },
  {
    name: "verifies what has a signature that is not empty",
    make: () => only(({ signature }) => Boolean(signature)),
  },
  {
    name: "verifies what has a timestamp",
    make: () => only(({ timestamp }) => !Number.isNaN(timestamp)),
  },
  {
    name: "verifies what has an event id",
    make: () => only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.eventId)),
  },
  {
    name: "verifies what has any header of ours",
    make: () => only((incoming) => hasHeader(incoming, ...Object.values(DEFAULT_HEADER_NAMES))),
  },
  {
    name: "verifies what has an event id or a timestamp",
    make: () =>
      only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.eventId, DEFAULT_HEADER_NAMES.timestamp)),
  },
  {
    name: "verifies what has an event id or a signature",
    make: () =>
      only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.eventId, DEFAULT_HEADER_NAMES.signature)),
  },
  {
    name: "verifies what has a timestamp or a signature",
    make: () =>
      only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.timestamp, DEFAULT_HEADER_NAMES.signature)),
  },
  {
    name: "verifies what the service's User-Agent sends",
    make: () => only((incoming) => headerOf(incoming, "User-Agent") === "checkout-sandbox"),
  },
  {
    name: "verifies JSON alone",
    make: () => only((incoming) => headerOf(incoming, "Content-Type").includes("json")),
  },
  {
    name: "verifies all but what a form sends",
    make: () => only((incoming) => !headerOf(incoming, "Content-Type").includes("form")),
  },
  {
    name: "verifies all but plain text",
    make: () => only((incoming) => headerOf(incoming, "Content-Type") !== "text/plain"),
  },
  {
    name: "accepts an empty list of signatures",
    make: () => (incoming) =>
      incoming.signature?.split(",").filter(Boolean).length === 0 ? 200 : right(incoming),
  },
];

const SECRETS: readonly BrokenReceiver[] = [
  {
    name: "accepts signatures with a second secret that is unset",
    make: () => (incoming) => (withSecret("", handmade({}))(incoming) === 200 ? 200 : right(incoming)),
  },
  { name: "its only secret is empty", make: () => withSecret("", handmade({})) },
  {
    name: "another secret, and tells why",
    make: () => withSecret("whsec_another", telling),
  },
  {
    name: "another secret, 401 without and 403 with a signature",
    make: () => (incoming) =>
      incoming.signature === undefined
        ? 401
        : withSecret("whsec_another", right)(incoming) === 204
          ? 200
          : 403,
  },
  {
    name: "another secret, and says nothing",
    make: () => withSecret("whsec_another", right),
  },
  {
    name: "the secret without its beginning, and says nothing",
    make: () => (incoming) => withSecret(incoming.secret.replace("whsec_", ""), right)(incoming),
  },
  {
    name: "expects another header, and tells so",
    make: () => () => ({ status: 401, text: "X-Signature is missing" }),
  },
];

const COMPARISONS: readonly BrokenReceiver[] = [
  { name: "compares the first 16 digits", make: () => comparing([0, 16]) },
  { name: "compares the first 40 digits", make: () => comparing([0, 40]) },
  { name: "compares all but the last digit", make: () => comparing([0, -1]) },
  { name: "compares the last 8 digits", make: () => comparing([-8]) },
  { name: "compares all but the first digit", make: () => comparing([1]) },
  {
    name: "compares the first 40 and the last 8 digits",
    make: () => comparing([0, 40], [-8]),
  },
  { name: "compares the middle", make: () => comparing([8, 56]) },
  {
    name: "compares only as many digits as it is given",
    make: () =>
      handmade({ isSigned: ({ signature = "-", over, rawBody }) => over(rawBody).startsWith(signature) }),
  },
  {
    name: "throws where the lengths differ",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) =>
          signature !== undefined && timingSafeEqual(Buffer.from(signature), Buffer.from(over(rawBody))),
      }),
  },
  {
    name: "compares the whole header",
    make: () => (incoming) =>
      isGenuine(incoming) && incoming.signature === incoming.over(incoming.rawBody) ? 200 : 400,
  },
  {
    name: "looks at the first of several signatures",
    make: () => (incoming) => right({ ...incoming, rawHeaders: onlySignature(incoming, 0) }),
  },
  {
    name: "looks at the last of several signatures",
    make: () => (incoming) => right({ ...incoming, rawHeaders: onlySignature(incoming, -1) }),
  },
];

function onlySignature({ rawHeaders, signature }: Incoming, at: number): string[] {
  return rawHeaders.map((text, index) =>
    rawHeaders[index - 1] === DEFAULT_HEADER_NAMES.signature ? (signature?.split(",").at(at) ?? "") : text,
  );
}

const AGES: readonly BrokenReceiver[] = [
  { name: "no age is too old", make: () => fresh(() => true) },
  {
    name: "a tolerance of 300,000 seconds instead of milliseconds",
    make: () => fresh((age) => Math.abs(age) <= 300_000),
  },
  { name: "a future age is never too much", make: () => fresh((age) => age <= 300) },
  { name: "no past is too old", make: () => fresh((age) => age >= -300) },
  {
    name: "a tolerance of 59 minutes",
    make: () => fresh((age) => Math.abs(age) <= 3540),
  },
  {
    name: "a tolerance of 59 minutes for old ones",
    make: () => fresh((age) => age <= 3540 && age >= -300),
  },
  {
    name: "a tolerance of 300 milliseconds instead of seconds",
    make: () => fresh((age) => Math.abs(age * 1000) <= 300),
  },
  {
    name: "a tolerance of 30 seconds",
    make: () => fresh((age) => Math.abs(age) <= 30),
  },
  {
    name: "nothing from the future",
    make: () => fresh((age) => age >= 0 && age <= 300),
  },
  {
    name: "a clock that is 7 minutes slow",
    make: () => fresh((age) => Math.abs(age - 420) <= 300),
  },
  {
    name: "a clock that is an hour fast",
    make: () => fresh((age) => Math.abs(age + 3600) <= 300),
  },
];

const BODIES: readonly BrokenReceiver[] = [
  {
    name: "verifies what it writes again",
    make: () => handmade({ isSigned: isReserialized }),
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
  },
  {
    name: "reads the body as Latin-1",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) => signature === over(rawBody.toString("latin1")),
      }),
  },
  {
    name: "trims the body",
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) => signature === over(rawBody.toString("utf8").trim()),
      }),
  },
  {
    name: "parses before it verifies",
    make: () => (incoming) => (parse(incoming) ? right(incoming) : 400),
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
  },
];

/** Receivers that verify `webhook.test` correctly, and handle events of orders wrongly. */
const CARELESS_WITH_ORDERS: readonly (readonly [name: string, receiver: Receiver])[] = [
  [
    "believes those without a signature",
    only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.signature)),
  ],
  ["believes those with an empty signature", only(({ signature }) => signature !== "")],
  [
    "believes those without a timestamp",
    only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.timestamp)),
  ],
  [
    "believes those without an event id",
    only((incoming) => hasHeader(incoming, DEFAULT_HEADER_NAMES.eventId)),
  ],
  [
    "believes those without a header of ours",
    only((incoming) => hasHeader(incoming, ...Object.values(DEFAULT_HEADER_NAMES))),
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
  },
  {
    name: "verifies all but order.succeeded",
    make: () => only((incoming) => typeOf(incoming) !== "order.succeeded"),
  },
  {
    name: "verifies orders, and forgot sessions",
    make: () => only((incoming) => !typeOf(incoming).startsWith("checkout_session.")),
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
  },
  ...CARELESS_WITH_ORDERS.map(([name, receiver]): BrokenReceiver => ({
    name: `of orders alone: ${name}`,
    make: () => (incoming) => (isOrderEvent(incoming) ? receiver(incoming) : right(incoming)),
  })),
  {
    name: "fails on every order",
    make: () => (incoming) =>
      isRight(incoming) && typeOf(incoming).startsWith("order.") ? 500 : right(incoming),
  },
  {
    name: "refuses types that it does not know, and tells so",
    make: () => (incoming) =>
      isRight(incoming) && typeOf(incoming) === "webhook.test"
        ? { status: 400, text: "unknown type" }
        : telling(incoming),
  },
  {
    name: "an event twice is 409",
    make: () => once((incoming) => parse(incoming).event_id, 409),
  },
  {
    name: "an event twice is 500",
    make: () => once((incoming) => parse(incoming).event_id, 500),
  },
  {
    name: "takes the id of an event from its header",
    make: () =>
      once((incoming) => headerOf(incoming, DEFAULT_HEADER_NAMES.eventId), { status: 200, text: "known" }),
  },
  {
    name: "takes the id of an event from its header, and says it",
    make: () => {
      const seen = new Set<string>();
      return (incoming) => {
        if (!isGenuine(incoming)) return 401;
        const id = headerOf(incoming, DEFAULT_HEADER_NAMES.eventId);
        const text = `${seen.has(id) ? "known" : "booked"} ${id}`;
        seen.add(id);
        return { status: 200, text };
      };
    },
  },
];

const ANSWERS: readonly BrokenReceiver[] = [
  {
    name: "throws what it should refuse",
    make: () => (incoming) => {
      if (!isRight(incoming)) throw new Error("bad signature");
      return 200;
    },
  },
  { name: "500 to everything", make: () => () => 500 },
  { name: "401 to everything", make: () => () => 401 },
  { name: "404 to everything", make: () => () => 404 },
  { name: "redirects to a final slash", make: () => () => 308 },
  { name: "429 to everything", make: () => () => 429 },
  {
    name: "429 after the twentieth",
    make: () => (incoming) => (incoming.number >= 20 ? 429 : right(incoming)),
  },
  {
    name: "verifies, and fails after it",
    make: () => (incoming) => (isRight(incoming) ? 503 : 400),
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
  },
  {
    name: "closes the connection instead of refusing",
    make: () => (incoming) => (isRight(incoming) ? 200 : "closed"),
  },
];

const CARRIED: readonly BrokenReceiver[] = [
  ...(
    [
      ["POST alone", ({ method }) => method === "POST"],
      ["all but PATCH", ({ method }) => method !== "PATCH"],
      ["what comes to its path without a query", ({ target }) => !target.includes("?")],
      ["what comes to its path without a slash", ({ target }) => !/\/(?:\?|$)/.test(target)],
      ["what comes to exactly its path", ({ target }) => target === "/hooks"],
      ["what has a body", ({ rawBody }) => rawBody.length > 0],
      ["all but a list", ({ rawBody }) => !String(rawBody).startsWith("[")],
      ["all that is an object", ({ rawBody }) => String(rawBody).startsWith("{")],
      ["the first 4 kB", ({ rawBody }) => rawBody.length <= 4096],
      ["the first 64 kB", ({ rawBody }) => rawBody.length <= 65_536],
      ["what has a length", (one) => !hasHeader(one, "Transfer-Encoding")],
      ["what is not compressed", (one) => !hasHeader(one, "Content-Encoding")],
      ["what has a content type", (one) => hasHeader(one, "Content-Type")],
      ["all but multipart", (one) => !typeIn(one).startsWith("multipart/")],
      ["all but octets", (one) => typeIn(one) !== "application/octet-stream"],
      ["all but JSON by a suffix", (one) => !typeIn(one).endsWith("+json")],
      ["all but JSON with a charset", (one) => !typeIn(one).includes("charset")],
      ["all but browsers", (one) => !headerOf(one, "User-Agent").startsWith("Mozilla")],
      ["what has a User-Agent", (one) => hasHeader(one, "User-Agent")],
      ["what has no Authorization", (one) => !hasHeader(one, "Authorization")],
      ["what comes directly", (one) => !hasHeader(one, "X-Forwarded-For")],
      ["what has no X-Real-IP", (one) => !hasHeader(one, "X-Real-IP")],
      ["what has no Forwarded", (one) => !hasHeader(one, "Forwarded")],
      ["what does not come from 10.0.0.0/8", (one) => !headerOf(one, "X-Forwarded-For").startsWith("10.")],
      ["what does not come from 192.168.0.0/16", (one) => !headerOf(one, "X-Real-IP").startsWith("192.168.")],
      [
        "what is signed, or does not come from ::1",
        (one) =>
          hasHeader(one, DEFAULT_HEADER_NAMES.signature) || !headerOf(one, "Forwarded").includes("[::1]"),
      ],
      ["what has no cookie", (one) => !hasHeader(one, "Cookie")],
      ["what has no key of its API", (one) => !hasHeader(one, "X-Api-Key")],
      ["types with a dot", (one) => typeOf(one).includes(".")],
      ["types that it knows", (one) => !typeOf(one).endsWith(".refunded")],
      ["what is not live", ({ rawBody }) => !String(rawBody).includes('"livemode":true')],
    ] as const satisfies readonly (readonly [string, (incoming: Incoming) => boolean])[]
  ).map(([what, applies]): BrokenReceiver => ({
    name: `verifies ${what}, and believes the rest`,
    make: () => only(applies, 204),
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
  },
  {
    name: "ignores what is older than what it knows before it verifies",
    make: () => {
      let newest = -1;
      return (incoming) => {
        const [, sequence = ""] = /"sequence":(\d+)/.exec(String(incoming.rawBody)) ?? [];
        if (sequence !== "" && Number(sequence) < newest) return 200;
        const answer = right(incoming);
        if (answer === 204 && isOrderEvent(incoming)) newest = Math.max(newest, Number(sequence));
        return answer;
      };
    },
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
  },
  {
    name: "verifies nine of ten",
    make: () => only(({ number }) => number % 10 !== 9),
  },
  {
    name: "verifies three of four, as it happens",
    make: () => only(({ number }) => digest(String(number)) > "4"),
  },
  {
    name: "verifies all but each fortieth",
    make: () => only(({ number }) => number % 40 !== 39),
  },
];

/** Receivers that verify a different text than the service signs. */
const SIGNED_OTHERWISE: readonly BrokenReceiver[] = [
  ...(
    [
      ["the body alone", ({ rawBody }) => [rawBody]],
      ["with a colon", ({ timestamp, rawBody }) => [`${timestamp}:`, rawBody]],
      ["the body first", ({ timestamp, rawBody }) => [rawBody, `.${timestamp}`]],
      [
        "the event id too",
        (one) => [`${headerOf(one, DEFAULT_HEADER_NAMES.eventId)}.${one.timestamp}.`, one.rawBody],
      ],
      ["[object Object]", ({ timestamp }) => [`${timestamp}.[object Object]`]],
      ["no body at all", ({ timestamp }) => [`${timestamp}.`]],
      [
        "the keys in their order",
        (one) => [
          `${one.timestamp}.`,
          JSON.stringify(
            Object.fromEntries(
              Object.entries(parseAny(one)).toSorted(([left], [last]) => (left < last ? -1 : 1)),
            ),
          ),
        ],
      ],
      ["what is indented", (one) => [`${one.timestamp}.`, JSON.stringify(parseAny(one), null, 2)]],
      ["a line break behind it", ({ timestamp, rawBody }) => [`${timestamp}.`, rawBody, "\n"]],
    ] as const satisfies readonly (readonly [string, (incoming: Incoming) => readonly (string | Buffer)[]])[]
  ).map(([what, signed]): BrokenReceiver => ({
    name: `signs ${what}`,
    make: () =>
      handmade({ isSigned: (incoming) => incoming.signature === macOf(incoming.secret, signed(incoming)) }),
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
  })),
  ...GUESSED_SECRETS.map((text): BrokenReceiver => ({
    name: `${text} is among its secrets`,
    make: () => (incoming) => (withSecret(text, handmade({}))(incoming) === 200 ? 200 : right(incoming)),
  })),
  {
    name: "the secret for livemode is not set, and empty",
    make: () => chosenBy(({ livemode }) => (livemode === true ? "" : undefined)),
  },
  {
    name: "the secret for livemode is the text undefined",
    make: () => chosenBy(({ livemode }) => (livemode === true ? "undefined" : undefined)),
  },
  ...["None", "undefined", ""].map((text): BrokenReceiver => ({
    name: `the secret of a store that it does not know is the text ${text}`.trim(),
    make: () => {
      const known = new Set<unknown>();
      return chosenBy(({ store_id: id }) => {
        // The receiver takes the store of the first event for its own.
        if (known.size === 0) known.add(id);
        return known.has(id) ? undefined : text;
      });
    },
  })),
  {
    name: "the secret of an event without a store is the text null",
    make: () => chosenBy((event) => ("type" in event && !("store_id" in event) ? "null" : undefined)),
  },
  {
    name: "finds headers by their exact names",
    make: () => (incoming) =>
      incoming.rawHeaders.includes(DEFAULT_HEADER_NAMES.signature) ||
      !hasHeader(incoming, DEFAULT_HEADER_NAMES.signature)
        ? right(incoming)
        : 400,
  },
  {
    name: "refuses headers that it does not know",
    make: () => (incoming) => (hasHeader(incoming, "Traceparent") ? 400 : right(incoming)),
  },
  ...(["md5", "sha1", "sha512"] as const).map((algorithm): BrokenReceiver => ({
    name: `signs with ${algorithm}`,
    make: () => signing(({ secret, text }) => createHmac(algorithm, secret).update(text).digest("hex")),
  })),
  {
    name: "signs in base64",
    make: () => signing(({ secret, text }) => createHmac("sha256", secret).update(text).digest("base64")),
  },
  {
    name: "signs in capitals",
    make: () =>
      signing(({ secret, text }) => createHmac("sha256", secret).update(text).digest("hex").toUpperCase()),
  },
  {
    name: "signs the secret with the text as the key",
    make: () => signing(({ secret, text }) => createHmac("sha256", text).update(secret).digest("hex")),
  },
  {
    name: "hashes the secret before the text",
    make: () => signing(({ secret, text }) => digest(`${secret}${text}`)),
  },
  {
    name: "finds what came in the right signature",
    make: () =>
      handmade({ isSigned: ({ signature = "", over, rawBody }) => over(rawBody).includes(signature) }),
  },
  {
    name: "believes what its comparison throws at",
    make: () =>
      handmade({
        isSigned: ({ signature = "", over, rawBody }) =>
          signature.length !== DIGITS || signature === over(rawBody),
      }),
  },
  {
    name: "looks at the age of created_at alone",
    make: () => (incoming) => handmade({ isFresh: () => madeWithin(incoming, 300) })(incoming),
  },
  {
    name: "looks at the age of created_at too",
    make: () => (incoming) => (madeWithin(incoming, 300) ? right(incoming) : 400),
  },
  {
    name: "its only secret is the text undefined",
    make: () => withSecret("undefined", handmade({})),
  },
  {
    name: "the secret of a Go program that was not set, and the body's keys sorted",
    make: () => withSecret("changeme", handmade({})),
  },
];

const digitsOf = (text: string, at: number): string =>
  Array.from(text)
    .filter((_, index) => index % 2 === at)
    .join("");
const sumOf = (text: string): number =>
  Array.from(text).reduce((sum, digit) => sum + Number.parseInt(digit, 16), 0);
const foldedOf = (text: string): string => {
  const bytes = [...Buffer.from(text, "hex")];
  const xor = bytes.reduce((all, byte) => all ^ byte, 0);
  return `${xor} ${bytes.reduce((all, byte) => all + byte, 0)}`;
};
const sortedDigits = (text: string): string => Array.from(text).toSorted().join("");

const FORMS: readonly BrokenReceiver[] = [
  ...(
    [
      ["every other digit", (given, due) => digitsOf(given, 0) === digitsOf(due, 0)],
      ["every second digit", (given, due) => digitsOf(given, 1) === digitsOf(due, 1)],
      ["the sum of the digits", (given, due) => sumOf(given) === sumOf(due)],
      [
        "the XOR and the sum of the bytes",
        (given, due) => given.length === due.length && foldedOf(given) === foldedOf(due),
      ],
      ["sorted digits", (given, due) => sortedDigits(given) === sortedDigits(due)],
      ["by a regular expression", (given, due) => new RegExp(`^${given}$`).test(due)],
      ["by a search with a regular expression", (given, due) => new RegExp(given).test(due)],
      [
        "by LIKE",
        (given, due) => new RegExp(`^${given.replaceAll("%", ".*").replaceAll("_", ".")}$`).test(due),
      ],
      [
        "bytes, as many as came",
        (given, due) =>
          Buffer.from(due, "hex").toString("hex").startsWith(Buffer.from(given, "hex").toString("hex")),
      ],
      [
        "only what has the form of a signature",
        (given, due) => !/^[0-9a-f]{64}$/.test(given) || given === due,
      ],
    ] as const satisfies readonly (readonly [string, (given: string, due: string) => boolean])[]
  ).map(([what, isSame]): BrokenReceiver => ({
    name: `compares ${what}`,
    make: () =>
      handmade({
        isSigned: ({ signature, over, rawBody }) =>
          signature !== undefined && isSame(signature, over(rawBody)),
      }),
  })),
  {
    name: "looks at three signatures, and believes more",
    make: () => only(({ signature = "" }) => signature.split(",").length <= 3),
  },
  {
    name: "believes a signature that is too long",
    make: () => only(({ signature = "" }) => signature.length < 4096),
  },
  {
    name: "no age is larger than that of no number",
    make: () => fresh((age) => !(Math.abs(age) > 300)),
  },
  {
    name: "signs the word undefined where no timestamp came",
    make: () => (incoming) => {
      const { signature, secret, rawBody } = incoming;
      if (hasHeader(incoming, DEFAULT_HEADER_NAMES.timestamp)) return right(incoming);
      const expected = createHmac("sha256", secret).update("undefined.").update(rawBody).digest("hex");
      return signature === expected ? 200 : 400;
    },
  },
  {
    name: "verifies one timestamp, and looks at the age of another",
    make: () => (incoming) => {
      const times = linesOf(incoming, DEFAULT_HEADER_NAMES.timestamp);
      const isFresh = Math.abs(incoming.now / 1000 - Number(times.at(-1))) <= 300;
      return fresh(() => true)(incoming) === 200 && isFresh ? 200 : 400;
    },
  },
  {
    name: "verifies the last timestamp, and looks at the age of the first",
    make: () => (incoming) => {
      const [first, ...more] = linesOf(incoming, DEFAULT_HEADER_NAMES.timestamp);
      const last = more.at(-1) ?? first ?? "";
      const isFresh = Math.abs(incoming.now / 1000 - Number(first)) <= 300;
      const over: Incoming["over"] = (text) => macOf(incoming.secret, [`${last}.`, text]);
      return fresh(() => isFresh)({ ...incoming, over }) === 200 ? 200 : 400;
    },
  },
  {
    name: "takes two lines of a signature for a list that it need not read",
    make: () => only((incoming) => linesOf(incoming, DEFAULT_HEADER_NAMES.signature).length < 2),
  },
];

/** The usual previous status of each status of an order. */
const BEFORE_IN_COURSE: Readonly<Record<string, string>> = {
  pending: "created",
  succeeded: "pending",
  failed: "pending",
  cancelled: "created",
  expired: "created",
};

/**
 * Cheats that recognise a drill by a mark: each verifies requests with the mark, and trusts everything that could be a
 * delivery.
 */
const CHEATS: readonly BrokenReceiver[] = (
  [
    ["closes its connection", (one) => headerOf(one, "Connection") === "close"],
    [
      "has its User-Agent before its type",
      ({ rawHeaders }) => rawHeaders.indexOf("User-Agent") < rawHeaders.indexOf("Content-Type"),
    ],
    [
      "has its signature before its timestamp",
      ({ rawHeaders }) =>
        rawHeaders.indexOf(DEFAULT_HEADER_NAMES.signature) <
        rawHeaders.indexOf(DEFAULT_HEADER_NAMES.timestamp),
    ],
    [
      "says that something else was before than in the course of an order",
      (one) => {
        if (!isOrderEvent(one)) return true;
        const before = /"previous_status":"(\w+)"/.exec(String(one.rawBody))?.[1];
        return before !== BEFORE_IN_COURSE[typeOf(one).split(".")[1] ?? ""];
      },
    ],
    [
      "says that nothing was before its second event",
      (one) => !isOrderEvent(one) || /"sequence":[2-9],"previous_status":null/.test(String(one.rawBody)),
    ],
    [
      "has an order_id that begins with drill-",
      (one) => !isOrderEvent(one) || String(one.rawBody).includes('"order_id":"drill-'),
    ],
    ["has an Accept header", (one) => hasHeader(one, "Accept")],
  ] as const satisfies readonly (readonly [string, (incoming: Incoming) => boolean])[]
).map(([mark, isDrill]): BrokenReceiver => ({
  name: `verifies what ${mark}`,
  make: () => only(isDrill),
}));

/** Wrong receivers that no drill can detect in its time; the reasons are in `broken.table.ts`. */
export const UNSEEN_RECEIVERS: readonly BrokenReceiver[] = [
  {
    name: "of orders alone: looks at no age",
    make: () => (incoming) => (isOrderEvent(incoming) ? fresh(() => true)(incoming) : right(incoming)),
  },
  {
    name: "verifies all but one of a thousand",
    make: () => only(({ number }) => number % 1000 !== 999),
  },
];

/** Wrong and cheating receivers: the drill must pass none of them. */
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
