import { decodeOrThrow } from "../../core/shape/fields.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import type { Calls } from "../calls.ts";
import { parseMomentOption } from "../options.ts";
import { addedFault } from "../shapes.ts";
import type { Fault, Faults } from "../fault-types.ts";

export function faultsOf(calls: Calls, storeId: string): Faults {
  return {
    add: async (faultRequest) => {
      const body = "profile" in faultRequest ? faultRequest : requestOf(faultRequest, storeId);
      const { fault } = await calls.control({ name: "addFault", storeId, body });
      return { id: fault.id };
    },
    list: async () => {
      const { faults } = await calls.control({ name: "listFaults", storeId, body: undefined });
      return faults.map((fault) => decodeOrThrow(addedFault, fault));
    },
    remove: async (id) => void (await calls.control({ name: "removeFault", storeId, id, body: undefined })),
    clear: async () => void (await calls.control({ name: "clearFaults", storeId, body: undefined })),
  };
}

function requestOf({ match, until, ...parameters }: Fault, ownId: string): RequestOf<"addFault"> {
  const { storeId = ownId, ...fields } = match ?? {};
  if (storeId !== ownId) throw new TypeError(`these are the faults of store ${ownId}; got store ${storeId}`);
  return {
    ...parameters,
    until: until === undefined ? undefined : parseMomentOption(until),
    match: match === undefined ? undefined : fields,
  };
}
