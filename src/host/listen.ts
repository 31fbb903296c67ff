import type { ListenFailure, World, Listener, TlsTrust } from "../world.ts";
import { type HostFailure, usageFailure } from "./failure.ts";
import { CONFIG_PATH } from "../core/config/file-name.ts";
import { DRILL_BODY_LIMIT } from "../core/control/protocol.ts";
import type { LoopbackHost } from "../core/loopback.ts";
import { isLoopbackAddress } from "../core/network/address.ts";
import { isRefusedPort } from "../core/network/refused-ports.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { DEFAULT_RATE_LIMIT } from "../core/request/rate-limit.ts";
import { printable } from "../core/text.ts";
import { createSandbox, type Sandbox, type SandboxOptions, type SandboxParts } from "../sandbox/sandbox.ts";
import type { ServeOptions } from "./options.ts";
import type { HostContext } from "./hosting.ts";
import type { ProcessDescription } from "../core/sandbox/description.ts";
import { DEFAULT_PORT } from "../core/config/settings.ts";

export type PortlessService = SandboxParts & {
  readonly describe: (port: number, host?: LoopbackHost) => ProcessDescription;
};

type ListeningSandbox = { readonly listener: Listener; readonly sandbox: Sandbox };

/**
 * A configuration may be larger than other bodies (decision 6), and requests to pages may carry many cookies (decision
 * 58).
 */
const LIMITS = {
  bodyLimits: [{ path: new RegExp(`^${CONFIG_PATH}$`), bodyBytes: 2 * 1024 * 1024 }, DRILL_BODY_LIMIT],
  largerHeads: { paths: ["/portal", "/pay", "/assets"], headBytes: 64 * 1024 },
};

const MAX_PORT_MOVES = 20;

/** Refuses a portal URL with the host of the payment pages: cookies do not distinguish ports (decision 99). */
export function requireOwnHost({
  portalUrl,
  publicUrl,
  allowHost = [],
}: ServeOptions): Outcome<void, HostFailure> {
  if (portalUrl === undefined) return accept(undefined);
  const { hostname } = new URL(portalUrl);
  const hosts = [...(publicUrl === undefined ? [] : [new URL(publicUrl).host]), ...allowHost];
  if (hosts.every((host) => host.replace(/:\d+$/, "").toLowerCase() !== hostname)) return accept(undefined);
  const message = `--portal-url ${portalUrl} has the same host as the payment pages`;
  return usageFailure(message, "name another host for the portal, or leave --portal-url out");
}

/**
 * Warns about addresses that other machines reach; without an allowed host, refuses them, to prevent DNS rebinding
 * (decision 79).
 */
export function warnAboutExposure(
  { printer }: Pick<HostContext, "printer">,
  { listen: addresses = [], allowHost = [], allowControlHost = [], publicUrl, portalUrl }: ServeOptions,
): Outcome<void, HostFailure> {
  const openAddresses = addresses.filter((address) => !isLoopbackAddress(address));
  if (openAddresses.length === 0) return accept(undefined);
  const names = [...allowHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  if (names.length === 0) {
    const message = `--listen ${openAddresses.join(", ")} opens the sandbox to other machines, but no host name is allowed`;
    return usageFailure(
      message,
      "add --allow-host with the HOST that they use (HOST:PORT if they use another port), or --public-url",
    );
  }
  const controlHosts = allowControlHost.length === 0 ? "this machine only" : allowControlHost.join(", ");
  printer.trace(
    `warning: other machines reach the v1 API and the payment pages at ${openAddresses.join(", ")}, as ${names.join(", ")}; the control API: ${controlHosts}; the portal: ${portalUrl ?? "this machine only"}`,
  );
  return accept(undefined);
}

/** Runs before a first start creates its folder, so that a refusal leaves no folder behind. */
export async function checkFirstPort(
  world: Pick<World, "files" | "listen" | "portOwner">,
  folder: string,
  { port = 0, listen: addresses = [] }: Pick<ServeOptions, "port" | "listen">,
): Promise<Outcome<void, HostFailure>> {
  if (world.files.exists(folder) || (port === 0 && addresses.length === 0)) return accept(undefined);
  const probe = await probePort(world, port, addresses);
  return probe.ok ? accept(undefined) : { ok: false, refusal: portFailure(world, port, probe.refusal) };
}

export async function probePort(
  world: Pick<World, "listen">,
  port: number,
  addresses: readonly string[] = [],
): Promise<Outcome<number, ListenFailure>> {
  const refuse = () => Promise.reject(new Error("nothing is served yet"));
  const noService = { answer: refuse, refuse };
  const listenResult = await world.listen(() => noService, { port, addresses, limits: {} });
  if (!listenResult.ok) return listenResult;
  await listenResult.value.close(0);
  return accept(listenResult.value.port);
}

export function createSandboxOnPort(
  { world, version }: HostContext,
  { listen: addresses = [], publicUrl, portalUrl, rateLimit = DEFAULT_RATE_LIMIT }: ServeOptions,
  { describe, port, host, ...parts }: PortlessService & ServicePort,
): Sandbox {
  const description = describe(port, host);
  const { settings } = description;
  const origins = { addresses, publicUrl, portalUrl };
  return createSandbox(world, { ...parts, ...settings, ...origins, rateLimit, description, version });
}

type ServicePort = Pick<SandboxOptions, "deliveryTls"> & {
  readonly port: number;
  readonly host?: LoopbackHost;
};

/**
 * Without `--port`, tries further ports if the default is taken, except with a public or portal URL, which needs a
 * fixed port.
 */
export async function listenOnPort(
  context: HostContext,
  options: ServeOptions,
  service: PortlessService,
): Promise<Outcome<ListeningSandbox, HostFailure>> {
  let sandbox: Sandbox | undefined;
  const makeService = (port: number, host: LoopbackHost) => {
    sandbox = createSandboxOnPort(context, options, { ...service, deliveryTls, port, host });
    return sandbox.service;
  };
  const { world, printer } = context;
  const { port: namedPort, listen: addresses = [], publicUrl, portalUrl, ca } = options;
  let deliveryTls: TlsTrust | undefined;
  if (ca !== undefined) {
    const { readTrustedCertificates } = await import("./trusted-certificates.ts");
    const trust = readTrustedCertificates(world, ca);
    if (!trust.ok) return trust;
    deliveryTls = trust.value;
  }
  const requestedPort = namedPort ?? DEFAULT_PORT;
  const hasFixedPort = publicUrl !== undefined || portalUrl !== undefined;
  const lastPort = namedPort === undefined && !hasFixedPort ? requestedPort + MAX_PORT_MOVES : requestedPort;
  for (let port = requestedPort; ; port += 1) {
    const listenResult = await world.listen(makeService, { port, addresses, limits: LIMITS });
    if (listenResult.ok) {
      if (port !== requestedPort) {
        const owner = printable(world.portOwner(requestedPort) ?? "another process");
        printer.info(`Port ${requestedPort} is used by ${owner}; this sandbox is on ${port}.`);
      }
      if (isRefusedPort(port))
        printer.trace(
          `warning: browsers, and fetch in programs, refuse port ${port}: the pages and the API cannot be opened there; choose another --port`,
        );
      if (sandbox === undefined) throw new Error("a listener makes its service");
      return accept({ listener: listenResult.value, sandbox });
    }
    if (listenResult.refusal.reason === "in_use" && port < lastPort) continue;
    return { ok: false, refusal: portFailure(world, port, listenResult.refusal) };
  }
}

export function portFailure(
  { portOwner }: Pick<World, "portOwner">,
  port: number,
  { reason, message, address = "" }: ListenFailure,
): HostFailure {
  if (reason === "no_such_address") {
    const next = "name an address of this machine with --listen, or 0.0.0.0 for all of IPv4";
    const addressProblem = `${address} is not an address of this machine (${message})`;
    return { kind: "failed", code: "address_unavailable", message: addressProblem, next };
  }
  const owner = portOwner(port);
  return {
    kind: "failed",
    code: "port_unavailable",
    message:
      owner === undefined ? `port ${port} cannot be used: ${message}` : `port ${port} is used by ${owner}`,
    next: "stop that process, or choose another port with --port (0 for any free port)",
  };
}
