import { openStore, type Store } from "../../src/store/store.ts";

// Opens a sandbox's database and closes it without a change. Then opens it again, writes three rows one after the
// other, prints each row after its acknowledgement, and closes the database.
const [path = "", run = ""] = process.argv.slice(2);
function open(): Store {
  const opened = openStore(path, {
    pid: process.pid,
    scheduler: { soon: setImmediate, after: (ms, go) => void setTimeout(go, ms) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

const idle = open();
await idle.write(() => undefined, { isOftenIdle: true });
idle.close();
const { stores, write, close } = open();
for (const row of [1, 2, 3]) {
  const id = `${run}-${row}`;
  await write(() => stores.insertMerchant({ id, name: "m".repeat(5000), createdAt: 1 }));
  process.stdout.write(`${id}\n`);
}
close();
