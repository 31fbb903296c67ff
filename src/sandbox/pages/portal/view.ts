import type { Html, Text } from "../../../web/html.ts";
import type { Calibration } from "../../../core/calibration/calibration.ts";
import type { Language, Words } from "../../../core/language.ts";
import { languageOf } from "../../../web/language.ts";
import type { World } from "../../../world.ts";
import type { AreaRequest } from "../../area.ts";
import type { ControlContext } from "../../control/control-api.ts";
import type { PortalAccess, PortalSession } from "../../runtime/portal-access.ts";
import type { PagesContext } from "../payment/routes.ts";

/** The dependencies of the portal: the operations of the control API, and the sessions. */
export type PortalContext = ControlContext &
  PagesContext & {
    readonly portal: PortalAccess;
    /** The calibration record of the project; undefined if there is none. */
    readonly calibration: () => Promise<Calibration | undefined>;
    readonly world: Pick<World, "after">;
    /** Called for internal errors, with the request_id that the caller received. */
    readonly report: (requestId: string, error: unknown) => void;
  };

/** Whether a viewer may open a page or send a form; forbidden pages and forms are not shown. */
export type PermissionCheck = (method: "GET" | "POST", address: string) => boolean;

/** The session of a request; undefined on the sign-in pages. */
export type Viewer = (PortalSession & { readonly may: PermissionCheck }) | undefined;

export type View = {
  readonly call: AreaRequest<Viewer>;
  readonly language: Language;
  /** The store in the path; empty on pages without a store. */
  readonly storeId: string;
  /** The id in the path; empty if the path has none. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** The token of this viewer's forms, with the number of the page, by which a double click is recognised. */
  readonly formToken: string;
  readonly may: PermissionCheck;
  /** A text from the last action that is shown once: keys or secrets, or the number of replays. Gone after a reload. */
  readonly oneTimeValue: string | undefined;
  /** The notice of the last action, shown once at the top of the page. */
  readonly notice?: Notice | undefined;
  readonly refusedForm?: RefusedForm | undefined;
  /** Whether the page is saved as a file: without forms, and without links to other pages. */
  readonly isSaved?: true;
  /** The tag with which the open page asks whether it has changed; undefined for a page that does not update. */
  readonly tag?: string | undefined;
};

/** The view of a part of a page, which can also be saved as a file. */
export type PartView = Pick<
  View,
  "storeId" | "id" | "language" | "formToken" | "refusedForm" | "isSaved" | "may"
>;

/** The result of an action, in words; times in the words are in ISO 8601. */
export type Notice = { readonly words: Words; readonly tone: "good" | "bad" | "warn" | "" };

export type RefusedForm = {
  /** The path to which the form was sent. */
  readonly action: string;
  readonly fields: ReadonlyMap<string, string>;
  /** The name of the refused field; empty if the refusal is about the form as a whole. */
  readonly field: string;
  readonly words: Words;
};

/** The subject of an open page: its whole store, its store without requests, or the checkout or delivery with its id. */
export const LIVE_TOPICS = ["store", "writes", "checkout", "delivery"] as const;
export type LiveTopic = (typeof LIVE_TOPICS)[number];

export type PageContent = {
  readonly title: Text;
  readonly main: Html;
  /** The changes after which the page is updated in place. Default: the page does not update. */
  readonly liveTopic?: LiveTopic;
  /** The updates of a list, which shows the number of new rows, and does not move its rows. */
  readonly listUpdates?: ListUpdates | undefined;
};

/** The updates of a list since its page was loaded. Newer rows have higher positions. */
export type ListUpdates = {
  /** The position of the newest row; 0 if the list is empty. */
  readonly newestPosition: number;
  /** The number of rows that are newer than the newest row of the loaded page; 0 while it loads. */
  readonly count: number;
  /** The ids of rows that can change, and update in place. */
  readonly rowIds: readonly string[];
};

/** Separates the token of a session's forms from the number of the page that contains them. */
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
    // Our own code wrote this JSON.
    notice: notice === undefined ? undefined : (JSON.parse(notice) as Notice),
  };
}
