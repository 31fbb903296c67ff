import type { Option } from "commander";
import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../../core/checkout/checkout.ts";
import { parseListenAddress } from "../../core/network/address.ts";
import { parsePortalUrl, parsePublicUrl } from "../../core/network/public-url.ts";
import { DEFAULT_KEPT_REQUESTS, MAX_KEPT_REQUESTS } from "../../core/request/logged-request.ts";
import { BUCKET_OWNER, DEFAULT_RATE_LIMIT } from "../../core/rate-limit.ts";
import {
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERY_TIMEOUT_MS,
  MAX_DELIVERIES_IN_FLIGHT,
} from "../../core/webhook/delivery.ts";
import { parseTargetHost } from "../../core/webhook/target.ts";
import { listOption, orInvalid, switchOption, valueOption } from "../command.ts";
import {
  parseChoice,
  parseDeliverySchedule,
  parseDuration,
  parseHost,
  parseLifetime,
  parseRateLimit,
  parseWhole,
} from "../parsers.ts";
import { durationText, scheduleText } from "../../core/config/setting-text.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { type ServeOptions, DEFAULT_PORT } from "../../host/options.ts";

/** How a sandbox is started. */
export type StartOptions = CommonOptions &
  ServeOptions & {
    readonly ephemeral?: boolean;
    readonly config?: string;
    readonly detach?: boolean;
    readonly reuse?: boolean;
  };

/** How a sandbox of a folder can be served. */
export function folderSettings(): Option[] {
  return [
    valueOption(
      "--port <port>",
      `port to listen on; 0 takes any free one (default: ${DEFAULT_PORT}, or the next free one)`,
      parseWhole(0, 65_535),
    ),
    configOption(),
    switchOption("--ephemeral", "keep the state in memory only"),
    switchOption("--adopt", "deliver events of a state that was copied or moved here, from now on"),
    ...servingSettings(),
  ];
}

/** The configuration that a sandbox is set up by. */
export function configOption(): Option {
  return valueOption("--config <file>", "the configuration (default: checkout.config.json, found upward)");
}

/** How any sandbox can be served, also one that keeps nothing. */
export function servingSettings(): Option[] {
  return [
    valueOption(
      "--rate-limit <rate>",
      `requests per second for each ${BUCKET_OWNER}: 5/s or off (default: ${DEFAULT_RATE_LIMIT.perSecond}/s)`,
      parseRateLimit,
    ),
    valueOption(
      "--checkout-lifetime <duration>",
      `how long a new checkout can be paid, 5m to 24h (default: ${durationText(DEFAULT_CHECKOUT_LIFETIME_MS)})`,
      parseLifetime,
    ),
    listOption(
      "--allow-host <host>",
      "another allowed Host header of the v1 API and the payment pages: HOST (without a port, or with that of the sandbox) or HOST:PORT (repeatable)",
      parseHost,
    ),
    listOption(
      "--allow-control-host <host>",
      "another allowed Host header of the control API: HOST or HOST:PORT, as above (default: this machine only; repeatable)",
      parseHost,
    ),
    listOption(
      "--allow-target <host>",
      "another host that events may be sent to (default: this machine only; repeatable)",
      orInvalid(parseTargetHost),
    ),
    listOption(
      "--listen <address>",
      "another address to listen on, such as 0.0.0.0; one that other machines reach needs --allow-host or --public-url (default: loopback only; repeatable)",
      orInvalid(parseListenAddress),
    ),
    valueOption(
      "--public-url <origin>",
      "what payers reach the payment pages at, for checkout_url: a proxy, a tunnel, a container's host (default: this machine)",
      orInvalid(parsePublicUrl),
    ),
    valueOption(
      "--portal-url <origin>",
      "what your browser reaches the portal at: beside --public-url it is off without one, whose host must be another (default: localhost)",
      orInvalid(parsePortalUrl),
    ),
    valueOption(
      "--delivery-timeout <duration>",
      `timeout for a receiver's answer to an event (default: ${durationText(DEFAULT_DELIVERY_TIMEOUT_MS)})`,
      parseDuration,
    ),
    valueOption(
      "--delivery-schedule <delays>",
      `delay before each try of a delivery, 0s first (default: ${scheduleText(DEFAULT_DELIVERY_SCHEDULE)})`,
      parseDeliverySchedule,
    ),
    valueOption(
      "--deliveries-in-flight <n>",
      `deliveries to one endpoint at once, of each order one (default: ${DEFAULT_DELIVERIES_IN_FLIGHT})`,
      parseWhole(1, MAX_DELIVERIES_IN_FLIGHT),
    ),
    valueOption(
      "--kept-requests <n>",
      `v1 requests that are kept of each store, for requests list and explain; 0 for none (default: ${DEFAULT_KEPT_REQUESTS})`,
      parseWhole(0, MAX_KEPT_REQUESTS),
    ),
    valueOption(
      "--log-format <format>",
      "request log: text or json (default: text)",
      parseChoice(["text", "json"]),
    ),
    switchOption("--quiet", "no request log"),
  ];
}
