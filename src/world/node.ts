import { isError } from "../core/outcome.ts";

// Modules that few commands need are loaded on use, because each costs milliseconds at the start of a command.

export const crypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");

export const sea = (): typeof import("node:sea") => process.getBuiltinModule("node:sea");

export const childProcess = (): typeof import("node:child_process") =>
  process.getBuiltinModule("node:child_process");

export function errorCodeOf(error: unknown): string | undefined {
  return isError(error) ? (error as NodeJS.ErrnoException).code : undefined;
}
