/**
 * The service's Worker, whose stores count the rows that their statements write, as a platform that bills by the row
 * does: `GET /v1/rows-written` with the key of a store answers the count since the last such request.
 */
import type { ObjectState } from "cloudflare:workers";
import { StoreObject as Store } from "../../../src/hosted/store-object.ts";

import { HostedService } from "../../../src/hosted/worker.ts";

export { IndexObject } from "../../../src/hosted/index-object.ts";
export class CountingService extends HostedService {}

type Sql = ObjectState["storage"]["sql"];
type Cursor = ReturnType<Sql["exec"]> & { readonly rowsWritten: number };

type Count = Map<string, number>;

/** Adds up the rows that statements write: when a statement has begun, and the increase when all its rows are read. */
function countRows({ storage }: ObjectState, count: Count): void {
  const { sql } = storage;
  const begin = sql.exec.bind(sql);
  const exec: Sql["exec"] = (text, ...values) => {
    const cursor = begin(text, ...values) as Cursor;
    let known = 0;
    const note = <Read>(read: Read): Read => {
      count.set(text, (count.get(text) ?? 0) + cursor.rowsWritten - known);
      known = cursor.rowsWritten;
      return read;
    };
    note(undefined);
    return {
      raw: () => note([...cursor.raw()]).values(),
      toArray: () => note(cursor.toArray()),
    };
  };
  Object.defineProperty(sql, "exec", { value: exec });
}

export class StoreObject extends Store {
  private readonly count: Count;

  constructor(state: ObjectState, env: ConstructorParameters<typeof Store>[1]) {
    const count: Count = new Map();
    countRows(state, count);
    super(state, env);
    this.count = count;
  }

  override async fetch(request: Request): Promise<Response> {
    if (!new URL(request.url).pathname.endsWith("/rows-written")) return super.fetch(request);
    const found = Object.fromEntries([...this.count].filter(([, rows]) => rows > 0));
    this.count.clear();
    return Response.json(found);
  }
}
