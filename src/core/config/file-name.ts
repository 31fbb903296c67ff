export const CONFIG_PATH = "/__sandbox/config";

/**
 * The name of the configuration file (decision 83). Separate from the schema, which only commands that read a
 * configuration load.
 */
export const CONFIG_FILE = "checkout.config.json";

/** The Worker of a hosted service: a file of this program, which is copied next to the configuration of its runtime. */
export const WORKER_FILE = "hosted-worker.mjs";
