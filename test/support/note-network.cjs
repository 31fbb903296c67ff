/**
 * Preloaded into a program: notes every address that it connects to, binds or looks up, one line of JSON each, in the
 * file of NETWORK_LOG. It stands at Node's own bindings, below every module that opens a connection.
 */
const { appendFileSync } = require("node:fs");
const dns = require("node:dns");
const { syncBuiltinESMExports } = require("node:module");

const note = (what, ...detail) =>
  appendFileSync(
    process.env.NETWORK_LOG,
    `${JSON.stringify({ what, detail, argv: process.argv.slice(2) })}\n`,
  );

/** Replaces a method by one that notes its arguments, without the request objects of the bindings, and then does the same. */
function watch(object, name, what) {
  const original = object?.[name];
  if (typeof original !== "function") return;
  object[name] = function (...args) {
    note(what, ...args.filter((arg) => ["string", "number"].includes(typeof arg)));
    return original.apply(this, args);
  };
}

const { TCP } = process.binding("tcp_wrap");
const { UDP } = process.binding("udp_wrap");
const { Pipe } = process.binding("pipe_wrap");
for (const name of ["connect", "connect6"]) watch(TCP.prototype, name, "connect");
for (const name of ["bind", "bind6"]) watch(TCP.prototype, name, "bind");
for (const name of ["connect", "connect6", "send", "send6", "bind", "bind6"])
  watch(UDP.prototype, name, "udp");
watch(Pipe.prototype, "connect", "pipe");
for (const owner of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
  for (const name of Object.getOwnPropertyNames(owner))
    if (/^(lookup|resolve|reverse)/.test(name)) watch(owner, name, "lookup");
syncBuiltinESMExports();
note("watched");
