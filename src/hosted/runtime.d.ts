// The part of the Workers runtime that this folder uses. The runtime's own type package would replace Node's types.
declare module "cloudflare:workers" {
  type SqlValue = string | number | ArrayBuffer | null;

  type SqlCursor = {
    readonly toArray: () => Record<string, SqlValue>[];
    readonly raw: () => IterableIterator<SqlValue[]>;
  };

  export type ObjectStorage = {
    readonly sql: { readonly exec: (sql: string, ...values: readonly SqlValue[]) => SqlCursor };
    readonly transactionSync: <Value>(work: () => Value) => Value;
    readonly sync: () => Promise<void>;
    readonly getAlarm: () => Promise<number | null>;
    readonly setAlarm: (at: number) => Promise<void>;
    readonly deleteAlarm: () => Promise<void>;
    readonly deleteAll: () => Promise<void>;
  };

  export class DurableObject<Env = unknown> {
    constructor(state: ObjectState, env: Env);
    protected readonly ctx: ObjectState;
    protected readonly env: Env;
  }

  export type ObjectState = {
    readonly storage: ObjectStorage;
    readonly blockConcurrencyWhile: <Value>(work: () => Promise<Value>) => Promise<Value>;
  };

  export class WorkerEntrypoint<Env = unknown> {
    constructor(context: unknown, env: Env);
    protected readonly env: Env;
  }

  export type Objects<Instance> = {
    readonly getByName: (name: string) => Stub<Instance>;
  };

  export type Stub<Instance> = { readonly fetch: (request: Request) => Promise<Response> } & {
    readonly [
      Name in keyof Instance as Instance[Name] extends (...values: never[]) => unknown ? Name : never
    ]: Instance[Name] extends (...values: infer Values) => infer Value
      ? (...values: Values) => Promise<Awaited<Value>>
      : never;
  };
}
