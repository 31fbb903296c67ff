export const CONFIG_PATH = "/__sandbox/config";

/** Separate from the schema, which only commands that read a configuration load (decision 83). */
export const CONFIG_FILE = "checkout.config.json";
