import type { Option } from "commander";
import { certificatesOfOption } from "../webhook/certificates-option.ts";
import { ALL_EVENTS, parseEventTypes } from "../../core/checkout/event-types.ts";
import {
  parseAddedHeader,
  parseRoute,
  type AddedHeader,
  type ForwardPlan,
  type ForwardRoute,
} from "../../core/webhook/forwarding.ts";
import { quote } from "../../core/shell/quote.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { completeAddress } from "../../core/network/spelled-address.ts";
import { parseTarget, parseTargetHost, type TargetPolicy } from "../../core/webhook/target.ts";
import { printableLiteral } from "../../core/text.ts";
import type { TlsTrust, World } from "../../world.ts";
import { replaceTypedOptions } from "../hints/again.ts";
import {
  listOption,
  optionParser,
  toOptionParser,
  repeatedOption,
  switchOption,
  valueOption,
  type Context,
} from "../command.ts";
import { bindToVariable } from "../option-rules.ts";
import { parseDuration, parseEventStart, parseHost, wholeNumberParser, type EventStart } from "../parsers.ts";
import { refuseUsage } from "../problem.ts";
import { headerNamesOption, secretOption, type SecretOptions } from "../webhook/signing-secrets.ts";
import { durationText } from "../../core/duration.ts";
import { PART_TEXTS } from "../../core/refusals/parts.ts";
import { english } from "../../core/language.ts";

type ListenStart = "last" | EventStart;

export type ListenCommandOptions = Omit<SecretOptions, "payloadFile"> & {
  readonly forward?: string;
  readonly events?: readonly string[];
  readonly route?: readonly ForwardRoute[];
  readonly header?: readonly AddedHeader[];
  readonly timeout?: number;
  readonly allowTarget?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly since?: ListenStart;
  readonly port?: number;
  readonly exitOnDisconnect?: boolean;
  readonly headerNames?: Pick<Dialect, "headers">;
  readonly printSecret?: boolean;
};

export type ListenPlan = ForwardPlan & {
  readonly headers: readonly AddedHeader[];
  readonly allowedHosts: readonly string[];
  /** Host headers that are accepted in addition to loopback names. */
  readonly ownHosts: readonly string[];
  readonly timeoutMs: number;
  readonly tls: TlsTrust | undefined;
  readonly dialect: Dialect | undefined;
};

const DEFAULT_TIMEOUT_MS = 10_000;

export function listenOptions(): Option[] {
  const settings = [
    valueOption("--forward <url>", { text: "URL to forward events to", default: "only print events" }),
    listOption(
      "--events <types>",
      {
        text: "only these event types or patterns, such as order.succeeded,checkout_session.*",
        default: "all",
      },
      parseEventType,
    ),
    repeatedOption(
      "--route <type=url>",
      "URL for some event types, such as order.*=http://localhost:3000/orders; the first match wins (repeatable; the variable takes only one)",
      parseRoute,
    ),
    repeatedOption(
      "--header <name:value>",
      "header to add to every forwarded event (repeatable; the variable takes only one)",
      parseAddedHeader,
    ),
    valueOption(
      "--timeout <duration>",
      { text: "timeout for a target's answer", default: durationText(DEFAULT_TIMEOUT_MS) },
      parseDuration,
    ),
    listOption(
      "--allow-target <host>",
      {
        text: "additional host that events may be forwarded to",
        default: "this machine only",
        note: "repeatable",
      },
      toOptionParser(parseTargetHost),
    ),
    listOption(
      "--allow-host <host>",
      {
        text: "additional Host header to accept, such as a tunnel's: HOST (without a port, or with the listener's port) or HOST:PORT",
        default: "this machine only",
        note: "repeatable",
      },
      parseHost,
    ),
    valueOption("--ca <file>", "PEM file of CA certificates to trust for https targets"),
    switchOption("--insecure", "skip TLS certificate verification of https targets"),
    valueOption(
      "--port <port>",
      { text: "port to listen on, or 0 for any free port", default: "0" },
      wholeNumberParser(0, 65_535),
    ),
    switchOption("--exit-on-disconnect", "exit 7 if the sandbox disconnects"),
    headerNamesOption(),
  ];
  return [
    ...settings.map((option) => bindToVariable("CHECKOUT_LISTEN", option)),
    valueOption(
      "--since <start>",
      {
        text: "where to start: last (events still waiting), a time, an age such as 10m, or an event_id",
        default: "last",
      },
      parseSince,
    ),
    switchOption("--print-secret", "print this listener's signing secret and exit"),
    secretOption(),
  ];
}

export function createListenPlan(context: Context, options: ListenCommandOptions): ListenPlan {
  const { allowTarget: allowedHosts = [] } = options;
  const defaultUrl = options.forward && (completeAddress(options.forward) ?? options.forward);
  const routes = (options.route ?? []).map(({ pattern, url }) => ({
    pattern,
    url: completeAddress(url) ?? url,
  }));
  const urls = [...(defaultUrl === undefined ? [] : [defaultUrl]), ...routes.map(({ url }) => url)];
  const policy = { allowedHosts, ownPort: options.port ?? NO_PORT };
  for (const url of urls) checkTarget(url, policy, context.world);
  const tls = resolveTrust(context, options);
  if (tls !== undefined && urls.every((url) => !url.startsWith("https:")))
    throw refuseUsage("--ca and --insecure need an https target", "leave them out");
  return {
    eventTypes: options.events ?? [ALL_EVENTS],
    routes,
    defaultUrl,
    headers: options.header ?? [],
    allowedHosts,
    ownHosts: options.allowHost ?? [],
    timeoutMs: options.timeout ?? DEFAULT_TIMEOUT_MS,
    tls,
    dialect: options.headerNames,
  };
}

const NO_PORT = -1;

function checkTarget(url: string, policy: TargetPolicy, world: World): void {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  const targetPolicy = { ...policy, ownPort: NO_PORT };
  const syntaxOutcome = parseTarget(url, { ...targetPolicy, allowedHosts: [...policy.allowedHosts, host] });
  if (!syntaxOutcome.ok)
    throw refuseUsage(syntaxOutcome.refusal.message, "give an address such as http://localhost:3000/hooks");
  if (!parseTarget(url, targetPolicy).ok) {
    const message = "events are forwarded only to this machine: localhost, 127.0.0.1 or [::1]";
    const addedOption = `--allow-target ${quote(host)}`;
    // A typed command with a header is not repeated, because the header may contain a secret.
    const hasHeader = world.argv.some((word) => /^(-H|--header)/.test(word));
    const next = `allow that host as well: ${hasHeader ? `add ${addedOption}` : replaceTypedOptions(world, new Map(), addedOption)}`;
    throw refuseUsage(`${message}; got ${printableLiteral(host)}`, next);
  }
  if (parseTarget(url, policy).ok) return;
  const message = `port ${policy.ownPort} is the port of this listener`;
  throw refuseUsage(message, "give the address of your application");
}

function resolveTrust(
  { world, printer }: Context,
  { ca, insecure }: ListenCommandOptions,
): TlsTrust | undefined {
  if (insecure === true) {
    printer.trace("warning: --insecure: TLS certificates of https targets are not verified");
    return { isUnchecked: true };
  }
  if (ca === undefined) return undefined;
  return { ca: certificatesOfOption(world, ca) };
}

const parseEventType = optionParser("an event type such as order.succeeded, or order.*", (text) =>
  parseEventTypes([text]).ok ? text : undefined,
);

const parseSince = optionParser(
  `last, the id of an event, ${english(PART_TEXTS.span_or_moment)}`,
  (text): ListenStart | undefined => (text === "last" ? text : parseEventStart(text)),
);
