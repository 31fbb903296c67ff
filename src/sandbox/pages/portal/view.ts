import type { Html, Text } from "../../../web/html.ts";
import type { Calibration } from "../../../core/calibration/calibration.ts";
import type { Language, Words } from "../../../core/language.ts";
import { languageOf } from "../../../web/language.ts";
import type { World } from "../../../world.ts";
import type { Call } from "../../area.ts";
import type { ControlContext } from "../../control/control-api.ts";
import type { PortalAccess, PortalSession } from "../../runtime/portal-access.ts";
import type { PagesContext } from "../payment/routes.ts";

/** What the portal acts with: the operations of the control API, and who is signed in. */
export type PortalContext = ControlContext &
  PagesContext & {
    readonly portal: PortalAccess;
    /** The calibration record of the project; undefined if there is none. */
    readonly calibration: () => Calibration | undefined;
    readonly world: Pick<World, "after">;
    /** Called for our own failures, with the request_id that the caller got. */
    readonly report: (requestId: string, error: unknown) => void;
  };

/** Who asks: undefined on the pages for signing in. */
export type Viewer = PortalSession | undefined;

/** A request for a page, read. */
export type View = {
  readonly call: Call<Viewer>;
  readonly language: Language;
  /** The store in the path; empty on pages of no store. */
  readonly storeId: string;
  /** The id in the path; empty where it has none. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** The token of this viewer's forms, with the number of this page: a form that comes from it twice is a double click. */
  readonly formToken: string;
  /** What the last act said for this one look: a new key, a secret that was asked for. A reload does not have it. */
  readonly shownOnce: string | undefined;
  /** What came of the last act, in a line at the top of this one look. */
  readonly said?: Notice | undefined;
  /** The form that was refused, where the page is shown again because of it. */
  readonly refused?: RefusedForm | undefined;
  /** What had happened in the store before the page was read. */
  readonly position?: LivePosition | undefined;
};

/** What came of an act. Moments in it stand in ISO 8601. */
export type Notice = { readonly words: Words; readonly tone: "good" | "bad" | "warn" | "" };

/** A form that was refused, as it was sent. */
export type RefusedForm = {
  /** The path that it was sent to. */
  readonly action: string;
  readonly fields: ReadonlyMap<string, string>;
  /** The name of the field that was refused; empty if it is about the form as a whole. */
  readonly field: string;
  readonly words: Words;
};

/** What has happened in a store, counted since its first page was looked at. Numbers of another epoch say nothing. */
export type LivePosition = {
  readonly epoch: number;
  /** Everything. */
  readonly told: number;
  /** The same without requests. */
  readonly written: number;
};

/** What an open page follows: it is told of every write that concerns this, and of no other. */
export type LiveTopic =
  /** Lists: the page says how many rows are new, and does not move. */
  | { readonly kind: "checkouts" | "requests" }
  /** The page is shown anew in place: what is open stays open, focus and scroll stay. */
  | { readonly kind: "checkout" | "delivery"; readonly id: string }
  | { readonly kind: "webhooks" | "store" };

/** What a page shows, inside of the frame. */
export type Content = {
  readonly title: Text;
  readonly main: Html;
  /** Default: the page stays as it is. */
  readonly live?: LiveTopic;
  /** What is new in a list, which stays as it is. */
  readonly news?: ListUpdates;
};

/** What is new in a list since an earlier look at it, by the places of its rows: the newer, the higher. */
export type ListUpdates = {
  /** The place of its newest row; 0 if it has none. */
  readonly newest: number;
  /** How many of its rows are newer than that of the earlier look; 0 without one. */
  readonly count: number;
  /** The ids of rows that change: they are shown anew where they stand. */
  readonly rows: readonly string[];
};

/** Stands between the token of a session's forms and the number of the page that has them. */
export const PAGE_MARK = ".";

/** A request as a page reads it. */
export function viewOf({ portal }: Pick<PortalContext, "portal">, call: Call<Viewer>): View {
  const { params, caller } = call;
  const query = new URLSearchParams(call.query);
  const taken = (name: string): string | undefined =>
    caller && call.request.method === "GET" ? portal.takeOnce(caller, query.get(name) ?? "") : undefined;
  const said = taken("said");
  return {
    call,
    language: caller?.language ?? languageOf(call.request),
    storeId: params["store_id"] ?? "",
    id: params["id"] ?? params["checkout_id"] ?? "",
    query,
    formToken: caller === undefined ? "" : `${caller.formToken}${PAGE_MARK}${portal.numberPage()}`,
    shownOnce: taken("shown"),
    // Written by us as such a value.
    said: said === undefined ? undefined : (JSON.parse(said) as Notice),
  };
}
