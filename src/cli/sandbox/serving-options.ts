import type { Option } from "commander";
import { DEFAULT_CHECKOUT_LIFETIME_MS } from "../../core/checkout/checkout.ts";
import { parseListenAddress } from "../../core/network/address.ts";
import { parsePortalUrl, parsePublicUrl } from "../../core/network/public-url.ts";
import { DEFAULT_KEPT_REQUESTS, MAX_KEPT_REQUESTS } from "../../core/request/logged-request.ts";
import { BUCKET_OWNER, DEFAULT_RATE_LIMIT } from "../../core/request/rate-limit.ts";
import {
  DEFAULT_DELIVERIES_IN_FLIGHT,
  DEFAULT_DELIVERY_SCHEDULE,
  DEFAULT_DELIVERY_TIMEOUT_MS,
  MAX_DELIVERIES_IN_FLIGHT,
} from "../../core/webhook/delivery.ts";
import { parseTargetHost } from "../../core/webhook/target.ts";
import { listOption, toOptionParser, switchOption, valueOption } from "../command.ts";
import {
  choiceParser,
  parseDeliverySchedule,
  parseDuration,
  parseHost,
  parseLifetime,
  parseRateLimit,
  wholeNumberParser,
} from "../parsers.ts";
import { scheduleText } from "../../core/config/setting-text.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { type ServeOptions, DEFAULT_PORT } from "../../host/options.ts";
import { durationText } from "../../core/duration.ts";

/** Options of `sandbox start`. */
export type StartOptions = CommonOptions &
  ServeOptions & {
    readonly ephemeral?: boolean;
    readonly config?: string;
    readonly detach?: boolean;
    readonly reuse?: boolean;
  };

/** Settings of a sandbox that keeps its state in a folder. */
export function folderSettings(): Option[] {
  return [
    valueOption(
      "--port <port>",
      `port to listen on, or 0 for any free port (default: ${DEFAULT_PORT}, or the next free port)`,
      wholeNumberParser(0, 65_535),
    ),
    configOption(),
    switchOption("--ephemeral", "keep the state in memory only"),
    switchOption("--adopt", "adopt a state folder that was copied or moved here, and deliver its events"),
    ...servingSettings(),
  ];
}

/** `--config`, the configuration file of a sandbox. */
export function configOption(): Option {
  return valueOption(
    "--config <file>",
    "configuration file (default: checkout.config.json, here or in a parent folder)",
  );
}

/** Settings of any sandbox, with or without a state folder. */
export function servingSettings(): Option[] {
  return [
    valueOption(
      "--rate-limit <rate>",
      `requests per second for each ${BUCKET_OWNER}, such as 5/s, or off (default: ${DEFAULT_RATE_LIMIT.perSecond}/s)`,
      parseRateLimit,
    ),
    valueOption(
      "--checkout-lifetime <duration>",
      `how long a new checkout can be paid, 5m to 24h (default: ${durationText(DEFAULT_CHECKOUT_LIFETIME_MS)})`,
      parseLifetime,
    ),
    listOption(
      "--allow-host <host>",
      "additional Host header to accept for the v1 API and the payment pages: HOST (without a port, or with the sandbox's port) or HOST:PORT (repeatable)",
      parseHost,
    ),
    listOption(
      "--allow-control-host <host>",
      "additional Host header to accept for the control API: HOST or HOST:PORT, as for --allow-host (default: this machine only; repeatable)",
      parseHost,
    ),
    listOption(
      "--allow-target <host>",
      "additional host that events may be sent to (default: this machine only; repeatable)",
      toOptionParser(parseTargetHost),
    ),
    listOption(
      "--listen <address>",
      "additional address to listen on, such as 0.0.0.0; an address that other machines can reach requires --allow-host or --public-url (default: loopback only; repeatable)",
      toOptionParser(parseListenAddress),
    ),
    valueOption(
      "--public-url <origin>",
      "origin of the payment pages in checkout_url, such as a proxy, a tunnel or a container's host (default: this machine)",
      toOptionParser(parsePublicUrl),
    ),
    valueOption(
      "--portal-url <origin>",
      "origin at which your browser reaches the portal; with --public-url, the portal is off unless this names another host (default: localhost)",
      toOptionParser(parsePortalUrl),
    ),
    valueOption(
      "--delivery-timeout <duration>",
      `timeout for an endpoint's answer to an event (default: ${durationText(DEFAULT_DELIVERY_TIMEOUT_MS)})`,
      parseDuration,
    ),
    valueOption(
      "--delivery-schedule <delays>",
      `delay before each attempt of a delivery; the first must be 0s (default: ${scheduleText(DEFAULT_DELIVERY_SCHEDULE)})`,
      parseDeliverySchedule,
    ),
    valueOption(
      "--deliveries-in-flight <n>",
      `maximum number of concurrent deliveries to one endpoint, 1 to ${MAX_DELIVERIES_IN_FLIGHT}; one at a time for each order (default: ${DEFAULT_DELIVERIES_IN_FLIGHT})`,
      wholeNumberParser(1, MAX_DELIVERIES_IN_FLIGHT),
    ),
    valueOption(
      "--kept-requests <n>",
      `maximum number of v1 requests to keep for each store, for requests list and explain, or 0 for none (default: ${DEFAULT_KEPT_REQUESTS})`,
      wholeNumberParser(0, MAX_KEPT_REQUESTS),
    ),
    valueOption(
      "--log-format <format>",
      "format of the request log: text or json (default: text)",
      choiceParser(["text", "json"]),
    ),
    switchOption("--quiet", "do not print the request log"),
  ];
}
