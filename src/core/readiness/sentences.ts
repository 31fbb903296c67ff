import type { Sentence } from "../text.ts";

/** What the checklist says of its items, as reason, evidence or risk: a row for each fact. */
export const READINESS = {
  approved: ["an administrator has approved the production credential of this store", null],
  notRequested: ["production was not requested, and no administrator has approved a credential for it", null],
  notApproved: ["production was requested, and no administrator has approved a credential for it yet", null],
  approvalRevoked: ["an administrator has revoked the approval of the production credential", null],
  gateOpen: ["an administrator has opened the production gate of this store", null],
  gateNeverOpened: ["no administrator has opened the production gate of this store", null],
  gateClosed: ["an administrator has closed the production gate", null],
  gateClosedByRevocation: [
    "the production gate closed when the approval of the credential was revoked",
    null,
  ],
  store: (activity: string) => [`store ${activity}`, null],
  activity: { on: ["active", null], off: ["inactive", null] },
  storeActive: (count: number) => [`the store is active, with all its ${count} capabilities`, null],
  storeInactive: ["the store is not active, so it takes no orders", null],
  capabilitiesOff: (names: string) => [`not active: ${names}`, null],
  capabilityMissing: (kind: string) => [`the store has no ${kind}`, null],
  noOrigin: ["no return origin is registered, so no customer is sent back", null],
  origins: (count: number) => [
    count === 1 ? "a return origin is registered" : `${count} return origins are registered`,
    null,
  ],
  but: (first: string, second: string) => [`${first}, but ${second}`, null],
  originsOnlyLocal: [
    "every return origin is http or on this machine: customers elsewhere cannot be sent back there",
    null,
  ],
  browserReturnDrill: ["the drill of a browser's return", null],
  endpointPaused: (url: string, reason: string) => [`${url} is paused: ${reason}`, null],
  noEndpoint: ["no endpoint is registered", null],
  noEndpointEnabled: ["no endpoint is enabled", null],
  webhooksPassed: (count: number) => [
    `${count === 1 ? "the endpoint" : `each of ${count} endpoints`} accepts valid webhooks and refuses invalid ones, and the shop books once`,
    null,
  ],
  webhookDrill: (url: string) => [`the webhook drill of ${url}`, null],
  endpointChanged: ["no longer counts: the address or the secret changed after it", null],
  sentTestOnly: (what: string) => [
    `${what} sent webhook.test only: with --order-view it sends forged events of an order too`,
    null,
  ],
  duplicatesDrill: ["the drill of duplicates", null],
  endpointsChanged: ["no longer counts: the endpoints changed after it", null],
  idempotencyDrill: ["the idempotency drill", null],
  storeChanged: ["no longer counts: it was one of another store", null],
  keyReplayed: (key: string) => [
    `seen in the log, which proves nothing: a create repeated with its key: key ${key}`,
    null,
  ],
  keyRefused: (key: string) => [
    `seen in the log, which proves nothing: another request with a used key, refused: key ${key}`,
    null,
  ],
  idempotencyPassed: ["the drill passed: a retry repeats its key", null],
  idempotencyRunning: ["an idempotency drill is running: the answer of one create is dropped", null],
  notRun: ["was not run", null],
  waived: (what: string) => [`${what} is waived`, null],
  waivedUntil: (drill: string, until: string, reason: string) => [
    `the drill of ${drill} is waived until ${until}: ${reason}`,
    null,
  ],
  failed: (what: string, why: string) => [`${what} failed: ${why}`, null],
  invalid: (what: string, why: string) => [`${what} ${why}`, null],
  inTheFuture: ["is in the future of the store's clock", null],
  tooOld: ["is older than 7 days", null],
  ended: (what: string, hasPassed: boolean, held: number, all: number) => [
    `${what} ${hasPassed ? "passed" : "failed"}: ${held} of ${all} steps`,
    null,
  ],
  step: (name: string, expected: string, got: string) => [`${name}: expected ${expected}; got ${got}`, null],
  moreFailed: (count: number) => [`${count} more steps failed`, null],
  notFinished: ["it was not finished", null],
} satisfies { readonly [fact: string]: Told };

type Told = Sentence | ((...values: never[]) => Sentence) | Readonly<Record<string, Sentence>>;
