import { isError } from "../core/outcome.ts";

// Node's modules that few commands need are loaded when they are used: each would cost every command milliseconds.

export const crypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");

export const sea = (): typeof import("node:sea") => process.getBuiltinModule("node:sea");

export const childProcess = (): typeof import("node:child_process") =>
  process.getBuiltinModule("node:child_process");

export function codeOf(error: unknown): string | undefined {
  return isError(error) ? (error as NodeJS.ErrnoException).code : undefined;
}
