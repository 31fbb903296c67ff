import { isStoreToken, parseAuthorization } from "../core/credential.ts";
import { CONTROL_PREFIX, DEFAULT_STORE } from "../core/control/protocol.ts";
import { markOfId, markOfKey, type Mark } from "./shared/marks.ts";

type Destination =
  | { readonly kind: "store"; readonly mark: Mark }
  | { readonly kind: "first store" | "index" | "nowhere" };

const NOWHERE: Destination = { kind: "nowhere" };
const INDEX: Destination = { kind: "index" };

const DELETE = "delete";

export function destinationOf(path: string, authorization: string | null): Destination {
  if (path.startsWith("/v1/")) return destinationOfKey(authorization);
  if (path.startsWith("/pay/")) return destinationOfId(path.split("/")[2] ?? "");
  if (!path.startsWith(CONTROL_PREFIX)) return NOWHERE;
  // A store's token reaches only its store, whichever store the path names.
  const [, token = ""] = /^bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  const ownMark = isStoreToken(token) ? markOfKey(token) : undefined;
  if (ownMark !== undefined) return { kind: "store", mark: ownMark };
  const [root, storeId = "", ...segments] = path.slice(CONTROL_PREFIX.length).split("/");
  if (root !== "stores" || storeId === "" || (segments.length === 1 && segments[0] === DELETE)) return INDEX;
  return storeId === DEFAULT_STORE ? { kind: "first store" } : destinationOfId(storeId);
}

function destinationOfKey(authorization: string | null): Destination {
  const key = parseAuthorization(authorization === null ? [] : [authorization]);
  const mark = key.ok && key.value.kind === "test" ? markOfKey(key.value.apiKey) : undefined;
  return mark === undefined ? NOWHERE : { kind: "store", mark };
}

function destinationOfId(id: string): Destination {
  const mark = markOfId(id);
  return mark === undefined ? NOWHERE : { kind: "store", mark };
}
