import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createCookieJar } from "../../src/client/judge/shop/cookies.ts";
import { sendHttp } from "../../src/web/send.ts";

const SHOP = "http://localhost:3000/thanks";

test("the cookie jar sends a cookie to every port of its host and to no other host", () => {
  const jar = createCookieJar();
  expect(jar.headerFor(SHOP)).toEqual({});
  jar.keep(SHOP, undefined);
  jar.keep(SHOP, "sid=a=b==; Path=/; Expires=Fri, 27 Nov 2026 10:00:00 GMT; HttpOnly\nlang=zh ;SameSite=Lax");
  expect(jar.headerFor("http://localhost:4000/")).toEqual({ Cookie: "sid=a=b==; lang=zh" });
  expect(jar.headerFor("http://127.0.0.1:3000/thanks")).toEqual({});
  jar.keep(SHOP, "sid=2\nlang=; Max-Age=3600");
  expect(jar.headerFor(SHOP)).toEqual({ Cookie: "sid=2" });
  jar.keep(SHOP, "sid=3; max-age=0\n=nameless\n");
  expect(jar.headerFor(SHOP)).toEqual({});
});

test("the cookie jar keeps at most 50 cookies of a host, and replaces known cookies", () => {
  const jar = createCookieJar();
  jar.keep(SHOP, Array.from({ length: 60 }, (_, at) => `c${at}=1`).join("\n"));
  jar.keep(SHOP, "c0=2");
  const kept = jar.headerFor(SHOP)["Cookie"]?.split("; ");
  expect([kept?.length, kept?.[0], kept?.at(-1)]).toEqual([50, "c0=2", "c49=1"]);
});

test("the HTTP client and the cookie jar keep several Set-Cookie lines apart", async () => {
  const server = createServer((_request, response) => {
    response.setHeader("Set-Cookie", ["sid=1; Expires=Fri, 27 Nov 2026 10:00:00 GMT", "lang=en"]);
    response.end("thanks");
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/thanks`;
  const wanted = { method: "GET", url, headers: {}, timeoutMs: 5000, maxResponseBytes: 1000 } as const;
  const result = await sendHttp(wanted, AbortSignal.timeout(5000));
  const jar = createCookieJar();
  if (result.ok) jar.keep(url, result.headers["set-cookie"]);
  expect(jar.headerFor(url)).toEqual({ Cookie: "sid=1; lang=en" });
});
