/** The path of the control API, which only the sandbox has; it is not part of v1 (decision 43). */
export const CONTROL_ROOT = "/__sandbox";
export const CONTROL_PREFIX = `${CONTROL_ROOT}/`;
/** Accepted instead of the id of the first store. */
export const DEFAULT_STORE = "default";
export const STORES_HINT = "checkout stores list shows the stores";

export const VERSION_HEADER = "Checkout-Sandbox-Version";
export const INSTANCE_HEADER = "Checkout-Sandbox-Instance";
/** Response header with the operation that answered; missing if the sandbox has no such operation. */
export const OPERATION_HEADER = "Checkout-Sandbox-Operation";
/** Request header with a lease: the operation is refused if the lease has ended (decision 66). */
export const LEASE_HEADER = "Checkout-Sandbox-Lease";

/** Steps and requests of drills are larger than other bodies. */
export const DRILL_BODY_LIMIT = {
  path: new RegExp(`^${CONTROL_PREFIX}stores/[^/?]+/drills(?:/post)?$`),
  bodyBytes: 256 * 1024,
};

/** The tokens of a state folder: `control` runs the sandbox, `administrator` acts as the service's administrator. */
export type ControlRole = "control" | "administrator";

export const CONTROL_TOKEN_BYTES = 32;

export function hasTokenFormat(text: string): boolean {
  return /^[\w-]{16,128}$/.test(text);
}

export const TOKEN_PREFIXES = { control: "svc_control_", administrator: "svc_admin_" } as const;
