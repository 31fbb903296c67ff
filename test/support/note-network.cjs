/**
 * Notes every address that a process connects to, binds or looks up. It hooks Node's own bindings, below every module
 * that opens a connection. Preloaded into a program, it writes each note as a line of JSON into the file of
 * NETWORK_LOG.
 */
const { appendFileSync } = require("node:fs");
const dns = require("node:dns");
const { syncBuiltinESMExports } = require("node:module");

/** Calls `note` with the kind and the arguments of each call from now on; returns a function that stops this. */
function watchNetwork(note) {
  const undo = [];
  // Replaces a method with a wrapper that first notes its arguments, without the request objects of the bindings.
  const watch = (object, name, what) => {
    const original = object?.[name];
    if (typeof original !== "function") return;
    object[name] = function (...args) {
      note({ what, detail: args.filter((arg) => ["string", "number"].includes(typeof arg)) });
      return original.apply(this, args);
    };
    undo.push(() => void (object[name] = original));
  };
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
  return () => {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  };
}

exports.watchNetwork = watchNetwork;

if (process.env.NETWORK_LOG !== undefined) {
  const append = (note) =>
    appendFileSync(process.env.NETWORK_LOG, `${JSON.stringify({ ...note, argv: process.argv.slice(2) })}\n`);
  watchNetwork(append);
  append({ what: "watched", detail: [] });
}
