import { hash } from "node:crypto";
import type { HttpResponse } from "../world.ts";
import { PAGE_SECURITY_HEADERS } from "./page.ts";

export type Asset = ReturnType<typeof createAsset>;

export function createAsset(path: string, contentType: string, text: string) {
  const version = `v=${hash("sha256", text, "hex").slice(0, 12)}`;
  return {
    path,
    text,
    /** The path with the hash of the text, for links from pages. */
    address: `${path}?${version}`,
    /** The answer with the file. With the query of `address`, browsers cache it for a year. */
    answer: (query: string): HttpResponse => ({
      status: 200,
      headers: {
        ...PAGE_SECURITY_HEADERS,
        "Content-Type": `${contentType}; charset=utf-8`,
        "Cache-Control": query === version ? "max-age=31536000, immutable" : "no-cache",
      },
      body: text,
    }),
  };
}
