import packageJson from "../package.json" with { type: "json" };

/** The version of this program. */
export const VERSION: string = packageJson.version;

/** The versions of Node that it runs on, as package.json says. */
export const NEEDED_NODE: string = packageJson.engines.node;
