import { COMMAND_AGENT } from "../../core/own-agent.ts";
import { parseAuthorization } from "../../core/credential.ts";
import type { CredentialInStore } from "../../store/credentials.ts";
import type { Store } from "../../store/store.ts";
import { headerLines } from "../../web/http.ts";
import type { HttpRequest } from "../../world.ts";

/** The owner of a request's key, even if the request is refused; undefined if the key is missing or unknown. */
export function callerOf(
  store: Pick<Store, "credentials">,
  request: HttpRequest,
): CredentialInStore | undefined {
  const presented = parseAuthorization(headerLines(request, "authorization"));
  if (!presented.ok || presented.value.kind === "live") return undefined;
  return store.credentials.byApiKey(presented.value.apiKey);
}

/** Whether a command of this program sent a request: it shows nothing of the merchant's own client. */
export function isOwnCommand(request: HttpRequest): boolean {
  return headerLines(request, "user-agent").some((agent) => agent.startsWith(COMMAND_AGENT));
}
