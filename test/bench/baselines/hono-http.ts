/** Baseline: hono on its Node server with a constant answer. Prints its port. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { CONSTANT_BODY, announce } from "./announce.ts";

const app = new Hono();
app.get("/", (context) => context.body(CONSTANT_BODY, 200, { "Content-Type": "application/json" }));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, announce);
