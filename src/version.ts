import packageJson from "../package.json" with { type: "json" };

export const VERSION: string = packageJson.version;

/** The supported versions of Node, from package.json. */
export const NEEDED_NODE: string = packageJson.engines.node;
