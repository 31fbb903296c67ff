import type { Words } from "../language.ts";

/** The error of a zod check in both languages: zod keeps the English message, together with the Chinese message. */
export function errorWords([error, chinese]: Words): {
  readonly error: string;
  readonly params: { readonly chinese: string };
} {
  return { error, params: { chinese } };
}
