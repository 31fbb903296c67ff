/** Where the control API is; it is the sandbox's alone, no part of v1 (decision 43). */
export const CONTROL_ROOT = "/__sandbox";
/** How the paths of its operations begin. */
export const CONTROL_PREFIX = `${CONTROL_ROOT}/`;
/** Stands for the id of the sandbox's first store. */
export const DEFAULT_STORE = "default";
/** How the refusal of a store begins that does not exist. */
export const NO_STORE = "there is no store";

/** The header of an answer that tells the version of the sandbox (decision 65). */
export const VERSION_HEADER = "Checkout-Sandbox-Version";
/** The header of an answer that tells the instance of the sandbox (decision 96). */
export const INSTANCE_HEADER = "Checkout-Sandbox-Instance";
/** The header that names the operation that answered. An answer without it comes from a sandbox that has no such one. */
export const OPERATION_HEADER = "Checkout-Sandbox-Operation";

/** The roles: `control` runs the sandbox, `administrator` acts as the service's administrator. */
export type ControlRole = "control" | "administrator";

/** Random bytes in a token of the control API: the control token and the admin token. */
export const CONTROL_TOKEN_BYTES = 32;

/** Whether a text can be a token: those that are given from outside need no prefix. */
export function isToken(text: string): boolean {
  return /^[\w-]{16,128}$/.test(text);
}

/** What tokens begin with, so that they are recognised where they do not belong, and hidden. */
export const TOKEN_PREFIXES = { control: "svc_control_", administrator: "svc_admin_" } as const;
