#!/usr/bin/env node
// Runs on any Node, so that an old one can say what is wrong; the program itself is dist/checkout.cjs.
"use strict";
var needed = [22, 22, 2];
var found = process.versions.node.split(".").map(Number);
var older =
  found[0] !== needed[0]
    ? found[0] < needed[0]
    : found[1] !== needed[1]
      ? found[1] < needed[1]
      : found[2] < needed[2];
if (older) {
  console.error(
    "checkout needs Node " +
      needed.join(".") +
      " or newer, and this is " +
      process.versions.node +
      ": run it with npx in its project (npx checkout …), or install a newer Node.",
  );
  process.exitCode = 1;
} else {
  // Compiled code is kept beside the program, where only its owner can write; without it a start takes twice as long.
  require("node:module").enableCompileCache(
    require("node:path").join(__dirname, "..", "dist", "compile-cache"),
  );
  require("../dist/checkout.js");
}
