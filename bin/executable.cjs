// The main script of the executable. It runs the program, whose files are assets. They load each other with `require`,
// as in the npm package, as if they were in a folder with the path of the executable.
"use strict";
const { createRequire, registerHooks } = require("node:module");
const { getAsset, getAssetKeys } = require("node:sea");
const { pathToFileURL } = require("node:url");

const folder = `${pathToFileURL(process.execPath).href}/`;
const fileUrls = new Set(getAssetKeys().map((name) => folder + name));

registerHooks({
  resolve: (specifier, context, next) => {
    const url = specifier.startsWith(".") ? URL.parse(specifier, context.parentURL)?.href : undefined;
    return fileUrls.has(url) ? { url, format: "commonjs", shortCircuit: true } : next(specifier, context);
  },
  load: (url, context, next) =>
    fileUrls.has(url)
      ? { format: "commonjs", source: getAsset(url.slice(folder.length), "utf8"), shortCircuit: true }
      : next(url, context),
});

createRequire(`${folder}executable.cjs`)("./checkout.js");
