#!/usr/bin/env node
// Runs on any Node, so that an old Node gets a clear error; the program itself is dist/checkout.js.
"use strict";
var neededVersion = [22, 22, 2];
var foundVersion = process.versions.node.split(".").map(Number);
var isOlder =
  foundVersion[0] !== neededVersion[0]
    ? foundVersion[0] < neededVersion[0]
    : foundVersion[1] !== neededVersion[1]
      ? foundVersion[1] < neededVersion[1]
      : foundVersion[2] < neededVersion[2];
// Bun and Deno report a version of Node, but cannot load the SQLite module.
var otherRuntime =
  process.versions.bun || global.Bun ? "Bun" : process.versions.deno || global.Deno ? "Deno" : undefined;
if (otherRuntime !== undefined) {
  console.error(
    "checkout needs Node " +
      neededVersion.join(".") +
      " or newer, and this is " +
      otherRuntime +
      ": install Node from https://nodejs.org, or use the executable, which needs none.",
  );
  process.exitCode = 1;
} else if (isOlder) {
  // In a clone, `npm ci` installs the required Node; the published package does not.
  var isClone = require("fs").existsSync(require("path").join(__dirname, "..", "build.ts"));
  console.error(
    "checkout needs Node " +
      neededVersion.join(".") +
      " or newer, and this is " +
      process.versions.node +
      (isClone
        ? ": run it with npx in its project (npm ci, then npx checkout …), or install a newer Node."
        : ": type npm i -D node@24 in your project and run it with npx --no -- checkout …, install a newer Node from " +
          "https://nodejs.org, or use the executable, which needs none."),
  );
  process.exitCode = 1;
} else {
  // Caching compiled code halves the time of a start. Node does not verify the cache, so the folder is used only if
  // nobody but its owner has access.
  var fs = require("node:fs");
  var dist = require("node:path").join(__dirname, "..", "dist");
  var cache = require("node:path").join(dist, "compile-cache");
  var isPrivate = function (folder) {
    var stats = fs.lstatSync(folder);
    if (!stats.isDirectory()) return false;
    // On Windows, Node shows neither modes nor owners.
    return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o077) === 0);
  };
  try {
    if (!fs.existsSync(cache)) fs.mkdirSync(cache, { mode: 0o700 });
    if (isPrivate(cache)) require("node:module").enableCompileCache(cache);
  } catch (error) {
    // If the folder cannot be written, or another start is creating it, this start has no cache.
    if (error.code === undefined) throw error;
  }
  try {
    require("../dist/checkout.js");
  } catch (error) {
    var isUnbuilt = error.code === "MODULE_NOT_FOUND" && !fs.existsSync(dist);
    // `syscall`: the system could not read a file of the program. Later errors are caught by the program itself.
    if (typeof error.syscall !== "string" && !isUnbuilt) throw error;
    var isLimit = error.code === "EMFILE" || error.code === "ENFILE";
    var remedy = isLimit ? "raise the limit of open files (ulimit -n)" : "check the folder and its disk";
    console.error(
      "checkout cannot start: " +
        (isUnbuilt ? "it is not built; run npm ci in its folder" : error.message + "; " + remedy) +
        ", and try again.",
    );
    process.exitCode = 1;
  }
}
