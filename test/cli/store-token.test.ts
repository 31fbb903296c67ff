import { expect, test } from "vitest";
import { openTeam } from "../support/team.ts";

test("the token of a store works from another machine, for its store only", async () => {
  const { owner, site, bob, made, type, sent } = await openTeam("store");
  for (const line of [
    "faults add drop --nth 1000",
    "sandbox clock freeze",
    "endpoints list",
    "events list",
    "requests list",
    "deliveries list",
    "snapshots create mine",
    "snapshots restore mine",
    "snapshots list",
    "checklist --json",
    "stores list",
  ]) {
    const { code, stderr } = await type(line);
    expect([line, line.startsWith("checklist") ? 0 : code, stderr.includes("✗")]).toEqual([line, 0, false]);
  }
  const listed = JSON.parse((await type("stores list --json")).stdout) as { stores: { store_id: string }[] };
  expect(listed.stores.map(({ store_id: id }) => id)).toEqual([bob["store_id"]]);
  const settings = JSON.parse((await type("whoami --json")).stdout) as { [key: string]: { value: string } };
  expect([settings["role"]?.value, settings["role_store_id"]?.value]).toEqual(["store", bob["store_id"]]);
  expect(settings["role_expires_at"]?.value).toBe(made["expires_at"]);
  for (const line of [
    `faults list --store ${site.sandbox.ready.store_id}`,
    "stores create --name Eve",
    "tokens list",
    "snapshots restore mine --adopt",
    "config export",
  ])
    expect([line, (await type(line)).code > 0]).toEqual([line, true]);
  expect(new Set(sent)).toEqual(new Set([`Bearer ${made["token"] ?? ""}`]));
  // The first store is as it was.
  expect((await owner.run(["faults", "list", "--json"])).stdout).toContain('"faults":[]');
});

test("a viewer's token reads from another machine, and changes nothing; an owner's token never leaves its machine", async () => {
  const { site, type, sent } = await openTeam("viewer");
  expect((await type("events list")).code).toBe(0);
  for (const line of ["sandbox clock freeze", "faults clear", "keys list", "env"])
    expect([line, (await type(line)).code > 0]).toEqual([line, true]);
  const before = sent.length;
  const refused = await type("events list", { CHECKOUT_CONTROL_TOKEN: site.sandbox.ready.control_token });
  expect([refused.code, refused.stderr.includes("the token of an owner never leaves"), sent.length]).toEqual([
    2,
    true,
    before,
  ]);
});

test("a request that waits ends soon after its token was revoked", async () => {
  const { owner, type, revoke } = await openTeam("viewer");
  const waiting = type("events list --wait --timeout 20s --since 0");
  await revoke();
  owner.clock.advance(2000);
  const { code, stderr } = await waiting;
  expect([code, /revoked|expired/.test(stderr)]).toEqual([4, true]);
});

test("a store's token goes only to the address that came with it, with a warning if it is not encrypted", async () => {
  const { type, sent } = await openTeam("store");
  const elsewhere = await type("whoami --base-url https://other.example/v1");
  expect([elsewhere.code, elsewhere.stderr.includes("goes only to https://box.example/v1")]).toEqual([
    2,
    true,
  ]);
  expect(sent).toEqual([]);
  const plain = await type("events list", { CHECKOUT_BASE_URL: "http://box.example/v1" });
  expect([plain.code, plain.stderr.split("\n")[0]]).toEqual([
    0,
    "warning: the token goes to http://box.example/v1 unencrypted; use https",
  ]);
});
