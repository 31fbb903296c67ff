/** The root path of the control API, which only the sandbox has; it is not part of v1 (decision 43). */
export const CONTROL_ROOT = "/__sandbox";
export const CONTROL_PREFIX = `${CONTROL_ROOT}/`;
/** Stands for the id of the sandbox's first store. */
export const DEFAULT_STORE = "default";
export const STORES_HINT = "checkout stores list shows the stores";

/** The response header with the version of the sandbox (decision 65). */
export const VERSION_HEADER = "Checkout-Sandbox-Version";
/** The response header with the instance of the sandbox (decision 96). */
export const INSTANCE_HEADER = "Checkout-Sandbox-Instance";
/** The response header with the operation that answered. Missing if the sandbox does not have the operation. */
export const OPERATION_HEADER = "Checkout-Sandbox-Operation";
/** The request header with a lease: an operation with this header is refused if the lease has ended (decision 66). */
export const LEASE_HEADER = "Checkout-Sandbox-Lease";

/** The paths of drills, and their limit for bodies: steps and requests are larger than other bodies. */
export const DRILL_BODY_LIMIT = {
  path: new RegExp(`^${CONTROL_PREFIX}stores/[^/?]+/drills(?:/post)?$`),
  bodyBytes: 256 * 1024,
};

/** The tokens of a state folder: `control` runs the sandbox, `administrator` acts as the service's administrator. */
export type ControlRole = "control" | "administrator";

/** Number of random bytes in a control or admin token. */
export const CONTROL_TOKEN_BYTES = 32;

/** Whether a text can be a token. Tokens supplied by the user need no prefix. */
export function isToken(text: string): boolean {
  return /^[\w-]{16,128}$/.test(text);
}

/** Prefixes of tokens, by which tokens in the wrong place are recognised and hidden. */
export const TOKEN_PREFIXES = { control: "svc_control_", administrator: "svc_admin_" } as const;
