import { WORKER_FILE } from "../../host/folder/files.ts";
import type { HostedSettings } from "../shared/settings.ts";
import { OBJECT_CLASSES } from "../shared/marks.ts";
import { deniedRanges } from "../../core/network/ranges.ts";

export const WORKERD_VERSION = "1.20261117.1";

const COMPATIBILITY_DATE = "2026-04-01";

/** workerd reads the secrets from these environment variables, so that no file and no command line contains them. */
export const SECRET_BINDINGS = {
  CONTROL_TOKEN: "HOSTED_CONTROL_TOKEN",
  ADMIN_TOKEN: "HOSTED_ADMIN_TOKEN",
  MASTER_KEY: "HOSTED_MASTER_KEY",
  FIRST_STORE: "HOSTED_FIRST_STORE",
} as const;

type WorkerdOptions = {
  readonly settings: HostedSettings;
  readonly objects: string;
  readonly allowAddresses: readonly string[];
};

/**
 * workerd checks each address after name resolution; of several matching blocks, the smallest decides, so an allowed
 * address overrides a denied range.
 */
export function workerdConfig({ settings, objects, allowAddresses }: WorkerdOptions): string {
  const allowList = ["public", ...allowAddresses.map(blockOf)].map(quoteText).join(", ");
  const denyList = deniedRanges().map(quoteText).join(", ");
  const secrets = Object.entries(SECRET_BINDINGS).map(
    ([name, variable]) => `    ( name = "${name}", fromEnvironment = "${variable}" ),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "checkout", worker = .checkout ),
    ( name = "internet", network = ( allow = [${allowList}], deny = [${denyList}], tlsOptions = ( trustBrowserCas = true ) ) ),
    ( name = "objects", disk = ( path = ${quoteText(objects)}, writable = true ) ),
    ( name = "object-files", disk = ( path = ${quoteText(objects)} ) ),
  ],
  sockets = [ ( name = "http", address = "127.0.0.1:${settings.port}", http = (), service = "checkout" ) ],
);

const checkout :Workerd.Worker = (
  modules = [ ( name = "worker", esModule = embed ${quoteText(WORKER_FILE)} ) ],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [
    ( className = "StoreObject", uniqueKey = "${OBJECT_CLASSES.stores}", enableSql = true ),
    ( className = "IndexObject", uniqueKey = "${OBJECT_CLASSES.index}", enableSql = true ),
  ],
  durableObjectStorage = ( localDisk = "objects" ),
  bindings = [
    ( name = "STORES", durableObjectNamespace = "StoreObject" ),
    ( name = "INDEX", durableObjectNamespace = "IndexObject" ),
    ( name = "OBJECT_FILES", service = "object-files" ),
    ( name = "SETTINGS", json = ${quoteText(JSON.stringify(settings))} ),
${secrets.join("\n")}
  ],
  globalOutbound = "internet",
);
`;
}

function blockOf(address: string): string {
  const plainAddress = address.replace(/[[\]]/g, "");
  return `${plainAddress}/${plainAddress.includes(":") ? 128 : 32}`;
}

function quoteText(text: string): string {
  return JSON.stringify(text);
}
