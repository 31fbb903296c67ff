/** Baseline: node:http with a constant answer. No service on node:http can answer faster. Prints its port. */
import { createServer } from "node:http";
import { CONSTANT_BODY, announce } from "./announce.ts";

const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(CONSTANT_BODY) };
const server = createServer((_incoming, response) => {
  response.writeHead(200, headers);
  response.end(CONSTANT_BODY);
});
server.listen({ host: "127.0.0.1", port: 0 }, () => announce(server.address()));
