export const CONFIG_PATH = "/__sandbox/config";

/** Kept apart from the schema, so that importing this name does not load the schema (decision 83). */
export const CONFIG_FILE = "checkout.config.json";
