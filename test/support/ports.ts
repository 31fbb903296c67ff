import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";

/**
 * A port where a connection is refused, and that nobody gets who asks for any: a connection of ours holds it while the
 * process lives. Who names the port may listen there.
 */
export async function heldPort(host = "127.0.0.1"): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const held = connect({ host, port, localAddress: host });
  const [other] = await Promise.all([once(server, "connection"), once(held, "connect")]);
  const [kept] = other as [typeof held];
  // The listener goes; the two ends of its one connection stay.
  server.close();
  for (const one of [server, held, kept]) one.unref();
  if (held.localPort === undefined) throw new Error("the connection that holds a port has none itself");
  return held.localPort;
}
