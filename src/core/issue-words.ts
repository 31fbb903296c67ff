import type { Words } from "./language.ts";

/** The error of a check of zod in both languages: zod keeps the English message, and the Chinese one beside it. */
export function errorWords([error, chinese]: Words): {
  readonly error: string;
  readonly params: { readonly chinese: string };
} {
  return { error, params: { chinese } };
}

/** The same for an issue that a check adds itself. */
export function messageWords([message, chinese]: Words): {
  readonly message: string;
  readonly params: { readonly chinese: string };
} {
  return { message, params: { chinese } };
}

/** The Chinese message of an issue that such a check has found; undefined for other issues. */
export function chineseIn({
  params,
}: {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}): string | undefined {
  const chinese = params?.["chinese"];
  return typeof chinese === "string" ? chinese : undefined;
}
