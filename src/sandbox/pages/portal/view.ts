import type { Html, Text } from "../../../web/html.ts";
import type { Calibration } from "../../../core/calibration/calibration.ts";
import type { Language, Words } from "../../../core/language.ts";
import { languageOf } from "../../../web/language.ts";
import type { World } from "../../../world.ts";
import type { AreaRequest } from "../../area.ts";
import type { ControlContext } from "../../control/control-api.ts";
import type { PortalAccess, PortalSession } from "../../runtime/portal-access.ts";
import type { PaymentAreaContext } from "../payment/routes.ts";

export type PortalContext = ControlContext &
  PaymentAreaContext & {
    readonly portal: PortalAccess;
    readonly calibration: () => Promise<Calibration | undefined>;
    readonly world: Pick<World, "after">;
    readonly report: (requestId: string, error: unknown) => void;
  };

export type PermissionCheck = (method: "GET" | "POST", address: string) => boolean;

export type Viewer = (PortalSession & { readonly may: PermissionCheck }) | undefined;

export type View = {
  readonly call: AreaRequest<Viewer>;
  readonly language: Language;
  readonly storeId: string;
  readonly id: string;
  readonly query: URLSearchParams;
  readonly formToken: string;
  readonly may: PermissionCheck;
  readonly oneTimeValue: string | undefined;
  readonly notice?: Notice | undefined;
  readonly refusedForm?: RefusedForm | undefined;
  /** Set for a page that is saved as a file: no forms, and no links to other pages. */
  readonly isSaved?: true;
  /** ETag with which the open page polls for changes; undefined if the page does not update. */
  readonly tag?: string | undefined;
};

export type PartView = Pick<
  View,
  "storeId" | "id" | "language" | "formToken" | "refusedForm" | "isSaved" | "may"
>;

export type Notice = { readonly words: Words; readonly tone: "good" | "bad" | "warn" | "" };

export type RefusedForm = {
  readonly action: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly field: string;
  readonly words: Words;
};

export const LIVE_TOPICS = ["store", "writes", "checkout", "delivery"] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];

export type PageContent = {
  readonly title: Text;
  readonly main: Html;
  readonly liveTopic?: LiveTopic;
  /** Set for a list that shows the number of new rows instead of inserting them. */
  readonly listUpdates?: ListUpdates | undefined;
};

export type ListUpdates = {
  readonly newestPosition: number;
  readonly count: number;
  readonly rowIds: readonly string[];
};

export const PAGE_SEPARATOR = ".";

export function viewOf({ portal }: Pick<PortalContext, "portal">, call: AreaRequest<Viewer>): View {
  const { params, caller } = call;
  const query = new URLSearchParams(call.query);
  const takeValue = (name: string): string | undefined =>
    caller && call.request.method === "GET" ? portal.takeOnce(caller, query.get(name) ?? "") : undefined;
  const notice = takeValue("said");
  return {
    call,
    language: caller?.language ?? languageOf(call.request),
    storeId: params["store_id"] ?? "",
    id: params["id"] ?? params["checkout_id"] ?? "",
    query,
    formToken: caller === undefined ? "" : `${caller.formToken}${PAGE_SEPARATOR}${portal.numberPage()}`,
    may: caller?.may ?? (() => true),
    oneTimeValue: takeValue("shown"),
    // This program wrote the JSON, so it is not validated.
    notice: notice === undefined ? undefined : (JSON.parse(notice) as Notice),
  };
}
