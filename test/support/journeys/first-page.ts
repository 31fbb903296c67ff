import { parse } from "node-html-parser";
import { agree } from "./agree.ts";
import { fetchParts } from "./parts.ts";
import type { Site } from "./site.ts";

/** Loads the page at the root with its styles, and the health check. */
export async function walkFirstPage({ request, ready }: Site): Promise<void> {
  const home = await request({ path: "/" });
  agree("the first page", home.status, 200);
  await fetchParts(parse(String(home.body)), new URL(ready.checkout_origin), request);
  agree("the health check", (await request({ path: "/healthz" })).status, 200);
}
