/** The path of the control API for configurations. */
export const CONFIG_PATH = "/__sandbox/config";

/**
 * The name of the configuration file (decision 83). In a file of its own, because only commands that read a
 * configuration load the schema.
 */
export const CONFIG_FILE = "checkout.config.json";
