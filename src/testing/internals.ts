import type { Calls } from "./calls.ts";
import type { InProcessSandbox } from "./in-process.ts";
import type { Sandbox } from "./types.ts";

type Internals = { readonly running: InProcessSandbox; readonly calls: Calls };

const sandboxInternals = new WeakMap<Sandbox, Internals>();

export function setInternals(sandbox: Sandbox, internals: Internals): Sandbox {
  sandboxInternals.set(sandbox, internals);
  return sandbox;
}

export function internalsOf(sandbox: Sandbox): Internals {
  const entry = sandboxInternals.get(sandbox);
  if (entry === undefined) throw new TypeError("sandbox must be a sandbox that startSandbox returned");
  return entry;
}
