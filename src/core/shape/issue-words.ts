import type { Words } from "../language.ts";

/** The error of a zod check in both languages: zod keeps the English message, together with the Chinese message. */
export function errorWords([error, chinese]: Words): {
  readonly error: string;
  readonly params: { readonly chinese: string };
} {
  return { error, params: { chinese } };
}

/** The Chinese message that a check or `errorWords` gave an issue; undefined for other issues. */
export function chineseIn({
  params,
}: {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}): string | undefined {
  const chinese = params?.["chinese"];
  return typeof chinese === "string" ? chinese : undefined;
}
