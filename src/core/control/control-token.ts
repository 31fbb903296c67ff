/** Random bytes in a token of the control API: the control token and the admin token. */
export const CONTROL_TOKEN_BYTES = 32;
