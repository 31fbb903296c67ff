import { createHmac, timingSafeEqual } from "node:crypto";
import { DEFAULT_HEADER_NAMES } from "../../src/core/webhook/signature.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import {
  handmade,
  headerLines,
  parse,
  right,
  telling,
  type Answer,
  type Incoming,
  type Receiver,
} from "./merchant-receivers.ts";

/** A correct receiver; `make` creates a new one, because some receivers keep state. */
type GoodReceiver = {
  readonly name: string;
  readonly make: () => Receiver;
  /** The drill's notes about the receiver. */
  readonly notes?: readonly string[];
};

const LENIENT = ["lenient_tolerance"];
const STRICT = ["strict_tolerance"];
const ANY_ID = ["ignores_event_id"];

/** Accepts each event once, by the id in its body, and answers a known event with `known`. */
function once(known: Answer, fresh: Answer, isGenuine: (incoming: Incoming) => boolean): Receiver {
  const seen = new Set<string>();
  return (incoming) => {
    if (!isGenuine(incoming)) return 400;
    const { event_id: id } = parse(incoming);
    if (seen.has(id)) return known;
    seen.add(id);
    return fresh;
  };
}

const isRight = (incoming: Incoming): boolean => right(incoming) === 204;
const isHandmadeRight = (incoming: Incoming): boolean => handmade({})(incoming) === 200;

/** Headers as most frameworks give them: one object with names in lower case. */
function joined({ rawHeaders }: Incoming): Record<string, string> {
  return Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ""]] : [])),
  );
}

/** Compares as in languages that compare bytes: digits are decoded first, and the length is checked. */
const isSignedByBytes = ({ signature = "", over, rawBody }: Incoming): boolean => {
  const given = Buffer.from(signature, "hex");
  const expected = Buffer.from(over(rawBody), "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
};

/** A route behind a middleware that refuses forgeries. */
function guarded(isGenuine: (incoming: Incoming) => boolean, route: Receiver): Receiver {
  return (incoming) => (isGenuine(incoming) ? route(incoming) : 401);
}

const header = ({ rawHeaders }: Incoming, name: string): string => headerLines(rawHeaders, name)[0] ?? "";
const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
};

/**
 * Checks whether an event is known before checking its age; `isKept`: whether the ids of events of a type are
 * remembered.
 */
function knowsBeforeAge(isKept: (type: string) => boolean): Receiver {
  const seen = new Set<string>();
  const signed = handmade({ isFresh: () => true });
  return (incoming) => {
    if (signed(incoming) !== 200) return 401;
    const { event_id: id, type } = parse(incoming);
    if (seen.has(id)) return { status: 200, text: "known" };
    if (!(Math.abs(incoming.now / 1000 - incoming.timestamp) <= 300)) return 401;
    if (isKept(type)) seen.add(id);
    return { status: 200, text: "new" };
  };
}

/** Passes this many requests per second to a receiver, and answers all others with `refused`. */
function limitedTo(perSecond: number, receiver: Receiver, refused: Answer = 429): Receiver {
  let second = 0;
  let count = 0;
  return (incoming) => {
    const now = Math.floor(incoming.now / 1000);
    count = now === second ? count + 1 : 1;
    second = now;
    return count > perSecond ? refused : receiver(incoming);
  };
}

/** A framework's answer before the merchant's code is called; undefined if that code is called. */
type Framework = (incoming: Incoming) => Answer | undefined;

const within =
  (framework: Framework, receiver: Receiver = right): Receiver =>
  (incoming) =>
    framework(incoming) ?? receiver(incoming);

const isRoute = ({ target }: Incoming): boolean => /^\/hooks(?:\?|$)/.test(target);

/** Frameworks as they are by default or as their guides show them, each with a correct route. */
const FRAMEWORKS: readonly GoodReceiver[] = (
  [
    [
      "Express: other methods and paths 404, a parser that refuses what is no JSON or too large",
      (one) => {
        if (one.method !== "POST" || !/^\/hooks\/?(?:\?|$)/.test(one.target)) return 404;
        if (one.rawBody.length > 100_000) return 413;
        if (!/^application\/(?:[a-z]+\+)?json/.test(header(one, "Content-Type"))) return undefined;
        return header(one, "Content-Encoding") === "" && isJson(String(one.rawBody)) ? undefined : 400;
      },
    ],
    [
      "Express: no raw body where the type is another, so that the HMAC throws",
      (one) => (header(one, "Content-Type") === "application/json" ? undefined : 500),
    ],
    [
      "Flask: a slash is 404, another method 405, another type 415, a number that is none an exception",
      (one) => {
        if (!isRoute(one)) return 404;
        if (one.method !== "POST") return 405;
        if (!/^application\/(?:[a-z]+\+)?json/.test(header(one, "Content-Type"))) return 415;
        return /^\d*$/.test(header(one, DEFAULT_HEADER_NAMES.timestamp)) ? undefined : 500;
      },
    ],
    ["Flask or Django: a slash is a redirect", (one) => (one.target.startsWith("/hooks/") ? 308 : undefined)],
    [
      "Go: the first line of each header, and at most 64 KiB, after which it closes the connection",
      (one) => (one.rawBody.length > 65_536 ? "closed" : undefined),
    ],
    ["Python's http.server: other methods are 501", (one) => (one.method === "POST" ? undefined : 501)],
    [
      "PHP: every method, form bodies cannot be read again",
      (one) => (/form/.test(header(one, "Content-Type")) ? 400 : undefined),
    ],
    [
      "Rails: 404 for other routes, 400 for JSON that it cannot parse",
      (one) => {
        if (!isRoute(one) || one.method !== "POST") return 404;
        return header(one, "Content-Type").includes("json") && !isJson(String(one.rawBody)) ? 400 : undefined;
      },
    ],
    [
      "behind nginx: a header of more than 8 kB is 400, a body of more than 64 kB 413",
      (one) => {
        if (one.rawHeaders.some((text) => text.length > 8192)) return 400;
        return one.rawBody.length > 65_536 ? 413 : undefined;
      },
    ],
    [
      "gunicorn: closes the connection on a long header",
      (one) => (one.rawHeaders.some((text) => text.length > 8190) ? "closed" : undefined),
    ],
    [
      "refuses what has a User-Agent of a browser or none",
      (one) => (/^(?:Mozilla.*)?$/.test(header(one, "User-Agent")) ? 403 : undefined),
    ],
    [
      "refuses other types of events first, with 422",
      (one) => (/refunded/.test(String(one.rawBody)) ? 422 : undefined),
    ],
  ] as const satisfies readonly (readonly [string, Framework])[]
).map(([name, framework]) => ({ name, make: () => within(framework) }));

/** Correct receivers of different kinds: the drill must pass each of them. */
export const GOOD_RECEIVERS: readonly GoodReceiver[] = [
  { name: "the exported verifier, 204", make: () => right },
  { name: "the exported verifier, with its code as the text", make: () => telling },
  { name: "made by hand, 200", make: () => handmade({}), notes: ANY_ID },
  { name: "202 for everything genuine", make: () => (incoming) => (isRight(incoming) ? 202 : 403) },
  {
    name: "a tolerance of 2 minutes",
    make: () => handmade({ isFresh: (age) => Math.abs(age) <= 120 }),
    notes: [...STRICT, ...ANY_ID],
  },
  {
    name: "a tolerance of 62 seconds",
    make: () => handmade({ isFresh: (age) => Math.abs(age) <= 62 }),
    notes: [...STRICT, ...ANY_ID],
  },
  {
    name: "a tolerance of 9 minutes",
    make: () => handmade({ isFresh: (age) => Math.abs(age) <= 540 }),
    notes: [...LENIENT, ...ANY_ID],
  },
  {
    name: "a tolerance of 5 minutes for old ones, of 90 seconds for new ones",
    make: () => handmade({ isFresh: (age) => age <= 300 && age >= -90 }),
    notes: [...STRICT, ...ANY_ID],
  },
  {
    name: "a tolerance in milliseconds, all of it",
    make: () => guarded(({ now, timestamp }) => Math.abs(now - timestamp * 1000) <= 300_000, handmade({})),
    notes: ANY_ID,
  },
  {
    name: "slow: verifies, and works for 12 seconds",
    make: () => (incoming) => {
      const answer = right(incoming);
      incoming.pass(12_000);
      return answer;
    },
  },
  {
    name: "slow: waits 8 seconds, then verifies",
    make: () => (incoming) => {
      incoming.pass(8000);
      return right({ ...incoming, now: incoming.now + 8000 });
    },
  },
  {
    name: "headers in lower case, joined",
    make: () => (incoming) => {
      const { rawBody, secret, now } = incoming;
      return verifyWebhook({ rawBody, headers: joined(incoming), secrets: secret, now }).ok ? 200 : 400;
    },
  },
  {
    name: "two secrets, the right one last",
    make:
      () =>
      ({ rawBody, rawHeaders, secret, now }) =>
        verifyWebhook({ rawBody, headers: rawHeaders, secrets: ["whsec_before", secret], now }).ok
          ? 204
          : 400,
  },
  { name: "compares bytes", make: () => handmade({ isSigned: isSignedByBytes }), notes: ANY_ID },
  {
    name: "any case of the digits, blanks around them",
    make: () =>
      handmade({
        isSigned: ({ signature = "", over, rawBody }) => signature.trim().toLowerCase() === over(rawBody),
      }),
    notes: ANY_ID,
  },
  {
    name: "compares two digests of the signatures",
    make: () =>
      handmade({
        isSigned: ({ signature = "", over, rawBody, secret }) => {
          const blind = (text: string): string => createHmac("sha256", secret).update(text).digest("hex");
          return blind(signature) === blind(over(rawBody));
        },
      }),
    notes: ANY_ID,
  },
  {
    name: "checks the age first",
    make: () => guarded(({ now, timestamp }) => Math.abs(now / 1000 - timestamp) <= 300, handmade({})),
    notes: ANY_ID,
  },
  {
    name: "each event once, 200 with another text for a known one",
    make: () => once({ status: 200, text: "known" }, { status: 200, text: "new" }, isRight),
  },
  {
    name: "each event once, 208 for a known one, by the body's id alone",
    make: () => once(208, 201, isHandmadeRight),
    notes: ANY_ID,
  },
  {
    name: "a status for each reason",
    make: () => (incoming) => {
      const { signature, timestamp, now, rawBody, over } = incoming;
      if (signature === undefined || Number.isNaN(timestamp)) return { status: 401, text: "unsigned" };
      if (!signature.split(",").includes(over(rawBody))) return { status: 403, text: "forged" };
      return Math.abs(now / 1000 - timestamp) > 300 ? { status: 409, text: "stale" } : 200;
    },
    notes: ANY_ID,
  },
  {
    name: "404 to everything that is not genuine",
    make: () => (incoming) => (isRight(incoming) ? 200 : 404),
  },
  {
    name: "answers with an id and a time of its own",
    make: () => (incoming) => ({
      status: right(incoming) === 204 ? 200 : 400,
      text: `{"request":"0199a3c4-5d00-7000-8000-${String(incoming.number).padStart(12, "0")}","at":${incoming.now}}`,
    }),
  },
  {
    name: "answers with random digits",
    make: () => (incoming) => ({
      status: isHandmadeRight(incoming) ? 200 : 400,
      text: incoming.over(String(incoming.number)),
    }),
    notes: ANY_ID,
  },
  {
    name: "ignores types that it does not know",
    make: () => guarded(isRight, (incoming) => (parse(incoming).type === "order.succeeded" ? 201 : 200)),
  },
  {
    name: "415 for what is no JSON, before it verifies",
    make: () => (incoming) => (incoming.rawHeaders.includes("application/json") ? right(incoming) : 415),
  },
  {
    name: "reads only JSON, and fails where there is none, as express.raw({ type }) does",
    make: () => (incoming) => (incoming.rawHeaders.includes("application/json") ? right(incoming) : 500),
  },
  {
    name: "a limit of 64 KiB, JSON alone",
    make: () =>
      guarded(
        ({ rawBody, rawHeaders }) => rawBody.length < 65_536 && rawHeaders.includes("application/json"),
        right,
      ),
  },
  ...FRAMEWORKS,
  {
    name: "another page behind the slash, which answers everybody",
    make: () => (incoming) =>
      incoming.target.startsWith("/hooks/") ? { status: 200, text: "<h1>Shop</h1>" } : right(incoming),
  },
  ...[401, 403, 422].map((status): GoodReceiver => ({
    name: `${status} for everything that is not genuine`,
    make: () => (incoming) => (isRight(incoming) ? 200 : status),
  })),
  {
    name: "looks whether it knows an event before its age",
    make: () => knowsBeforeAge(() => true),
    notes: ["dedups_before_age", ...ANY_ID],
  },
  {
    name: "looks whether it knows an event of an order before its age, and keeps no tests",
    make: () => knowsBeforeAge((type) => type !== "webhook.test"),
    notes: ["dedups_before_age", ...ANY_ID],
  },
  {
    name: "limited to 10 requests a second",
    make: () => limitedTo(10, right),
    notes: ["rate_limited_for_a_while"],
  },
  {
    name: "limited to 5 requests a second",
    make: () => limitedTo(5, right),
    notes: ["rate_limited_for_a_while"],
  },
  {
    name: "busy after 5 requests of a second, with 503 and a time to come again",
    make: () => limitedTo(5, right, { status: 503, text: "busy", headers: { "retry-after": "1" } }),
    notes: ["rate_limited_for_a_while"],
  },
];
