// What workerd runs: the configuration of a hosted service on this machine (decision 124). The Worker itself:
// hosted/worker.ts.

/** The date whose rules the Worker runs by. */
const COMPATIBILITY_DATE = "2026-04-01";

/** The file of the configuration and the module that it names, in the folder of the state. */
export const HOSTED_FILES = {
  config: "workerd.capnp",
  worker: "hosted-worker.mjs",
  objects: "objects",
} as const;

/** The variables from which workerd reads the secrets, so that no file and no command line contains them. */
export const SECRET_BINDINGS = {
  CONTROL_TOKEN: "CHECKOUT_HOSTED_CONTROL_TOKEN",
  ADMIN_TOKEN: "CHECKOUT_HOSTED_ADMIN_TOKEN",
  MASTER_KEY: "CHECKOUT_HOSTED_MASTER_KEY",
} as const;

/** The values of a configuration. */
type WorkerdOptions = {
  readonly port: number;
  /** The binding `SETTINGS`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Addresses to which the network may connect in addition to public ones. */
  readonly allowAddresses: readonly string[];
};

/**
 * The configuration of workerd. The network of the Worker connects to public addresses, which is checked for each
 * connection after the name was looked up, and to the allowed ones.
 */
export function workerdConfig({ port, settings, allowAddresses }: WorkerdOptions): string {
  const allow = ["public", ...allowAddresses.map(blockOf)].map(quoted).join(", ");
  const secrets = Object.entries(SECRET_BINDINGS).map(
    ([name, variable]) => `    ( name = "${name}", fromEnvironment = "${variable}" ),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ( name = "checkout", worker = .checkout ),
    ( name = "internet", network = ( allow = [${allow}], tlsOptions = ( trustBrowserCas = true ) ) ),
    ( name = "objects", disk = ( path = "${HOSTED_FILES.objects}", writable = true ) ),
  ],
  sockets = [ ( name = "http", address = "127.0.0.1:${port}", http = (), service = "checkout" ) ],
);

const checkout :Workerd.Worker = (
  modules = [ ( name = "worker", esModule = embed "${HOSTED_FILES.worker}" ) ],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [
    ( className = "StoreObject", uniqueKey = "stores", enableSql = true ),
    ( className = "IndexObject", uniqueKey = "index", enableSql = true ),
  ],
  durableObjectStorage = ( localDisk = "objects" ),
  bindings = [
    ( name = "STORES", durableObjectNamespace = "StoreObject" ),
    ( name = "INDEX", durableObjectNamespace = "IndexObject" ),
    ( name = "SETTINGS", json = ${quoted(JSON.stringify(settings))} ),
${secrets.join("\n")}
  ],
  globalOutbound = "internet",
);
`;
}

/** The addresses of a loopback host, or one address, as a block. */
function blockOf(address: string): string {
  const plain = address.replace(/[[\]]/g, "");
  return `${plain}/${plain.includes(":") ? 128 : 32}`;
}

/** A text of the configuration's language. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
