/** Where the control API takes a configuration. */
export const CONFIG_PATH = "/__sandbox/config";

/** The name of the configuration file (decision 83). Apart from the schema, which only a command that reads one loads. */
export const CONFIG_FILE = "checkout.config.json";
