import { createHmac, timingSafeEqual } from "node:crypto";
import { verifyWebhook } from "../../src/webhooks.ts";
import {
  handmade,
  parse,
  right,
  telling,
  type Answer,
  type Incoming,
  type Receiver,
} from "./merchant-receivers.ts";

/** A right receiver, made anew for each shop: some remember what they had. */
export type GoodReceiver = {
  readonly name: string;
  readonly make: () => Receiver;
  /** What the drill remarks on it. */
  readonly notes?: readonly string[];
};

const LENIENT = ["lenient_tolerance"];
const STRICT = ["strict_tolerance"];
const ANY_ID = ["ignores_event_id"];

/** Takes each event once, by the id in its body, and says so of one that it knows. */
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

/** As in languages that compare bytes: digits are decoded first, and the length checked. */
const isSignedByBytes = ({ signature = "", over, rawBody }: Incoming): boolean => {
  const given = Buffer.from(signature, "hex");
  const expected = Buffer.from(over(rawBody), "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
};

/** A middleware in front, and the route behind it. */
function guarded(isGenuine: (incoming: Incoming) => boolean, route: Receiver): Receiver {
  return (incoming) => (isGenuine(incoming) ? route(incoming) : 401);
}

/** Right receivers of different make: the drill must pass each of them. */
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
];
