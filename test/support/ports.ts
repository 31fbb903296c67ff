import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";

/** Maximum number of draws for a port that is free at both loopback addresses. */
const MAX_DRAWS = 20;

/**
 * A port that refuses connections at both loopback addresses, and is never assigned as a free port, because connections
 * of this process hold it while the process lives. A server that names the port can listen on it.
 */
export async function heldPort(host = "127.0.0.1"): Promise<number> {
  for (let draws = 0; draws < MAX_DRAWS; draws += 1) {
    const port = await hold(host);
    if (port === undefined) throw new Error("the connection that holds a port has none itself");
    try {
      await hold("::1", port);
      return port;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      // A machine without IPv6 has one loopback address.
      if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return port;
      if (code !== "EADDRINUSE") throw error;
    }
  }
  throw new Error(`of ${MAX_DRAWS} ports none was free at both loopback addresses`);
}

/** Holds a port of an address with a connection of this process; default: any port. */
async function hold(host: string, localPort?: number): Promise<number | undefined> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const held = connect({ host, port, localAddress: host, ...(localPort === undefined ? {} : { localPort }) });
  try {
    const [other] = await Promise.all([once(server, "connection"), once(held, "connect")]);
    const [kept] = other as [typeof held];
    for (const one of [held, kept]) one.unref();
    return held.localPort;
  } finally {
    // The listener closes, and both ends of its only connection stay open.
    server.close();
    server.unref();
  }
}
