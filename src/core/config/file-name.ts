export const CONFIG_PATH = "/__sandbox/config";

/** Separate from the schema, which only commands that read a configuration load (decision 83). */
export const CONFIG_FILE = "checkout.config.json";

/** The Worker of a hosted service: a file of this program, which is copied next to the configuration of its runtime. */
export const WORKER_FILE = "hosted-worker.mjs";
