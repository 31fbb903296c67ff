/** The User-Agent of the requests that this program's own commands send to v1. */
export const COMMAND_AGENT = "checkout-cli";
