/** Random bytes in an admin token. */
export const ADMIN_TOKEN_BYTES = 32;
