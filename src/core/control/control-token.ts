/** Random bytes in a token of the control API: the control token and the admin token. */
export const CONTROL_TOKEN_BYTES = 32;

/** Whether a text can be a token: those that are given from outside need no prefix. */
export function isToken(text: string): boolean {
  return /^[\w-]{16,128}$/.test(text);
}

/** What tokens begin with, so that they are recognised where they do not belong, and hidden. */
export const TOKEN_PREFIXES = { control: "svc_control_", administrator: "svc_admin_" } as const;
