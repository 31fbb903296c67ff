import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Plugin } from "esbuild";

const NAMESPACE = "own-zod";
/** Packages of `checkout mcp` that import the whole of zod. */
const OF_THE_SDK = /node_modules[/\\](?:@modelcontextprotocol[/\\]sdk|zod-to-json-schema)[/\\]/;

/**
 * Gives the SDK of `checkout mcp` a zod of its own. In chunks that it shares with other commands, the parts of zod that
 * only the SDK uses would be loaded by every command.
 */
export const ownZod: Plugin = {
  name: "own zod",
  setup: (bundler) => {
    bundler.onResolve(
      { filter: /^zod(?:\/|$)/ },
      async ({ path, importer, resolveDir, kind, pluginData }) => {
        if (pluginData === NAMESPACE || !OF_THE_SDK.test(importer)) return undefined;
        const found = await bundler.resolve(path, { resolveDir, kind, pluginData: NAMESPACE });
        return {
          path: relative(process.cwd(), found.path),
          errors: found.errors,
          namespace: NAMESPACE,
          sideEffects: false,
        };
      },
    );
    bundler.onResolve({ filter: /^\./, namespace: NAMESPACE }, ({ path, resolveDir }) => ({
      path: relative(process.cwd(), join(resolveDir, path)),
      namespace: NAMESPACE,
      sideEffects: false,
    }));
    bundler.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
      contents: readFileSync(path, "utf8"),
      loader: "js",
      resolveDir: dirname(resolve(path)),
    }));
  },
};
