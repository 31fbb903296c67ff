import { hash } from "node:crypto";
import type { HttpResponse } from "../world.ts";
import { PAGE_SECURITY_HEADERS } from "./page.ts";

export type Asset = ReturnType<typeof createAsset>;

export function createAsset(path: string, contentType: string, text: string) {
  const version = `v=${hash("sha256", text, "hex").slice(0, 12)}`;
  return {
    path,
    text,
    address: `${path}?${version}`,
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
