/** The environment of a merchant's command, without the tokens of the sandbox. */
export const TOKENLESS_ENVIRONMENT = {
  CHECKOUT_CONTROL_TOKEN: undefined,
  CHECKOUT_ADMIN_TOKEN: undefined,
  CHECKOUT_SANDBOX_CONTROL_TOKEN: undefined,
  CHECKOUT_SANDBOX_ADMIN_TOKEN: undefined,
} as const;
