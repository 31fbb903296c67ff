// Main script of the executable. The program's files are assets that load each other with `require`, as if they were in
// a folder with the path of the executable.
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
