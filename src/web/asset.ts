import { hash } from "node:crypto";
import type { HttpResponse } from "../world.ts";
import { PAGE_SECURITY_HEADERS } from "./page.ts";

export type Asset = {
  readonly path: string;
  readonly text: string;
  /** The path with the hash of the text, for links from pages. */
  readonly address: string;
  /** The answer with the file. With the query of `address`, browsers cache it for a year. */
  readonly answer: (query: string) => HttpResponse;
};

export function createAsset(path: string, contentType: string, text: string): Asset {
  const version = `v=${hash("sha256", text, "hex").slice(0, 12)}`;
  return {
    path,
    text,
    address: `${path}?${version}`,
    answer: (query) => ({
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
