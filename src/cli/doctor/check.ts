import type { Scene } from "./scene.ts";

/** What a check says. A warning is what works and may surprise; a problem is what does not work. */
export type Status = "ok" | "warning" | "problem" | "unknown";

/** What a check found, and what to do about it; null where there is nothing to do. */
export type Finding = {
  readonly status: Status;
  readonly found: string;
  readonly next: string | null;
};

/** One check: its name, and how it looks. It changes nothing, and sends nothing but to this machine. */
export type Check = {
  readonly name: string;
  readonly look: (scene: Scene) => Finding | Promise<Finding>;
};

/** Nothing to do. */
export function ok(found: string): Finding {
  return { status: "ok", found, next: null };
}

/** It works, and may surprise. */
export function warning(found: string, next: string): Finding {
  return { status: "warning", found, next };
}

/** It does not work. */
export function problem(found: string, next: string): Finding {
  return { status: "problem", found, next };
}

/** It could not be found out, for a reason. */
export function unknown(found: string, next: string | null = null): Finding {
  return { status: "unknown", found, next };
}
