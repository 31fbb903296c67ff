import { readFileSync } from "node:fs";
import { join } from "node:path";
import { callControl, type ControlResult, type ControlTarget } from "../../src/client/control/control.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../src/core/control/operations.ts";
import { sendHttp } from "../../src/web/send.ts";
import type { World } from "../../src/world.ts";

/** The network of this process; a real `World` would also change the umask and the exit code. */
export const NETWORK: Pick<World, "send"> = {
  send: (request) => sendHttp(request, AbortSignal.timeout(request.timeoutMs)),
};

/** The arguments of an operation; an operation without an id or a body omits it. */
type Call<Name extends OperationName> = {
  readonly id?: string;
} & (undefined extends RequestOf<Name>
  ? { readonly body?: RequestOf<Name> }
  : { readonly body: RequestOf<Name> });

/** The control API of a running sandbox, as its operator calls it. */
export type Control = {
  /** An answer, or the reason why there is none: the sandbox may be gone. */
  readonly attempt: <Name extends OperationName>(
    name: Name,
    call: Call<Name>,
  ) => Promise<ControlResult<AnswerOf<Name>>>;
  /** An answer; throws if there is none. */
  readonly call: <Name extends OperationName>(name: Name, call: Call<Name>) => Promise<AnswerOf<Name>>;
};

/** The control API of the sandbox on a port, with the token from its state folder. */
export function openControl(port: number, folder: string): Control {
  const { control_token: token } = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as {
    readonly control_token: string;
  };
  return controlOf({ origin: `http://127.0.0.1:${port}`, token });
}

/** The control API of a service, as its operator calls it with a token. */
export function controlOf(service: Pick<ControlTarget, "origin" | "token" | "storeId">): Control {
  const target = { ...service, version: "0.1.0" };
  const attempt: Control["attempt"] = (name, { id, body }) =>
    callControl(NETWORK, target, {
      name,
      ...(id === undefined ? {} : { id }),
      body: body as RequestOf<typeof name>,
    });
  return {
    attempt,
    call: async (name, call) => {
      const answer = await attempt(name, call);
      if (answer.end !== "success") throw new Error(`${name} was answered ${JSON.stringify(answer)}`);
      return answer.value;
    },
  };
}
