import {
  CONTROL_OPERATIONS,
  decodeRequest,
  inputKind,
  type AnswerOf,
  type OperationName,
  type RequestOf,
} from "../../../core/control/operations.ts";
import type { MinRole } from "../../../core/control/rights.ts";
import { ERRORS } from "../../../core/errors.ts";
import { accept, type Outcome, type Refusal, refusalWords } from "../../../core/outcome.ts";
import { refuseFact } from "../../../core/refusals.ts";
import { isSameSecret } from "../../../core/credential.ts";
import { requireOwnPage } from "../../../web/guard.ts";
import { headerLines } from "../../../web/http.ts";
import { emptyResponse, pageResponse, parseForm, redirect } from "../../../web/page.ts";
import type { Answer } from "../../answer.ts";
import type { AreaRoute, AreaRequest } from "../../area.ts";
import { callerOfSession, requireStoreAccess } from "../../access/caller.ts";
import { refuseUnknownStore } from "../../with-store.ts";
import { resolvesWithin } from "../../runtime/store-gate.ts";
import { runOperation } from "../../control/handlers.ts";
import { REFUSED_CLASS_ATTRIBUTE } from "./fields.ts";
import { storePath } from "./forms.ts";
import { framePage } from "./frame.ts";
import { liveChangesOf } from "./live/changes.ts";
import { SEEN_PARAMETER } from "./live/parts.ts";
import {
  PAGE_SEPARATOR,
  viewOf,
  type PageContent,
  type PortalContext,
  type Notice,
  type View,
  type Viewer,
} from "./view.ts";

export type PortalRoute = AreaRoute<PortalContext, Viewer> & {
  readonly minRole: MinRole | null;
  /** Whether the request waits while its store is being erased (decision 91). */
  readonly entersStore: boolean;
  /** Only the portal's own pages may request this route. Default: other sites may link to it. */
  readonly isOwnPagesOnly?: true;
};

type PageRenderer = (context: PortalContext, view: View) => Promise<Outcome<PageContent>>;

type RouteRow = Pick<PortalRoute, "path" | "minRole"> & Partial<Pick<PortalRoute, "methods" | "entersStore">>;

export function portalRoute(row: RouteRow, answer: PortalRoute["answer"]): PortalRoute {
  const session = row.minRole === "administrator" ? "administrator" : "merchant";
  const role = row.minRole === null ? "anyone" : `portal ${session}`;
  return { methods: ["GET"], entersStore: true, ...row, role, answer };
}

export function pageRoute(row: RouteRow, show: PageRenderer): PortalRoute {
  return portalRoute(row, (context, call) => answerWithPage(context, call, show));
}

export async function answerWithPage(
  context: PortalContext,
  call: AreaRequest<Viewer>,
  show: PageRenderer,
): Promise<Outcome<Answer>> {
  const view = viewOf(context, call);
  const storeCheck = requireStore(context, view);
  if (!storeCheck.ok) return storeCheck;
  const shortAddress = removeEmptyFields(view);
  if (shortAddress !== undefined) return accept(redirectTo(call, shortAddress));
  const changes = liveChangesOf(context);
  const pollAnswer = answerToPoll(changes, view);
  if (pollAnswer !== undefined) return accept(pollAnswer);
  const { storeId, oneTimeValue } = view;
  // The tag is taken before the page is read, so that writes during the read also cause an update.
  const tagOf = storeId === "" ? undefined : changes.beginPage(view);
  const content = await show(context, view);
  if (!content.ok) return content;
  const { liveTopic } = content.value;
  // An update would remove a value that is shown only once.
  const tag = liveTopic === undefined || oneTimeValue !== undefined ? undefined : tagOf?.(liveTopic);
  const markup = framePage(context, { ...view, tag }, content.value);
  return accept({
    ...pageResponse({ status: 200, markup, language: view.language }, call.requestId),
    isUnlogged: true,
  });
}

function answerToPoll(changes: ReturnType<typeof liveChangesOf>, view: View): Answer | undefined {
  const { call, query } = view;
  const [tag] = headerLines(call.request, "if-none-match");
  const changeKind = tag === undefined ? "something" : changes.changesSince(view, tag);
  const noChange = { ...emptyResponse(call.requestId), isUnlogged: true } as const;
  if (changeKind === "nothing") return { ...noChange, status: 304 };
  // Polls of a list do not remove rows, so a list whose store was erased is loaded again.
  const shouldReload = changeKind === "erasure" && query.has(SEEN_PARAMETER);
  return shouldReload ? { ...noChange, headers: { ...noChange.headers, "HX-Refresh": "true" } } : undefined;
}

function removeEmptyFields({ call, query }: View): string | undefined {
  const parameters = [...query].filter(([, value]) => value !== "");
  if (parameters.length === query.size) return undefined;
  return parameters.length === 0 ? call.path : `${call.path}?${new URLSearchParams(parameters).toString()}`;
}

export function pageOfOperation<Name extends OperationName>(
  operation: Name,
  show: (view: View, answer: AnswerOf<Name>, context: PortalContext) => PageContent,
): PageRenderer {
  return async (context, view) => {
    const body = decodeRequest(operation, emptyInput(operation));
    if (!body.ok) return body;
    const answer = await runAsViewer(context, operation, { ...view, body: body.value });
    return answer.ok ? accept(show(view, answer.value, context)) : answer;
  };
}

function emptyInput(operation: OperationName): unknown {
  return inputKind(operation) === "nothing" ? undefined : {};
}

type Action<Name extends OperationName> = {
  /** The action requires the role of this control operation, and has the operation's refusals. */
  readonly operation: Name;
  readonly read?: (fields: Fields) => unknown;
  readonly parse?: (
    fields: Fields,
    scope: { readonly context: PortalContext; readonly view: View },
  ) => Outcome<unknown>;
  /** The path to which the browser is redirected. Default: the page of the form. */
  readonly nextAddress?: (view: View, answer: AnswerOf<Name>, context: PortalContext) => string;
  readonly waitingAddress?: (view: View, context: PortalContext) => string;
  /** Text that the next page shows once, as `view.oneTimeValue`. */
  readonly oneTimeValueOf?: (answer: AnswerOf<Name>) => string;
  readonly notice?: (answer: AnswerOf<Name>, scope: ActionContext) => Notice | Promise<Notice>;
} & FormPage;

const ACTION_TIMEOUT_MS = 2000;

export type ActionContext = { readonly context: PortalContext; readonly view: View };

type Fields = ReadonlyMap<string, string>;

export type StoreAndId = Pick<View, "storeId" | "id">;

type FormPage = {
  readonly addressOf?: (view: StoreAndId) => string;
  /** The page that shows the form again after a refusal. Default: a page with only the refusal. */
  readonly page?: PageRenderer;
  readonly storeOf?: (fields: Fields) => string | undefined;
  readonly field?: string;
  readonly names?: Readonly<Record<string, string>>;
};

/** Redirects the browser after the operation (decision 99), or shows a refused form again. */
export function actionRoute<Name extends OperationName>(path: string, action: Action<Name>): PortalRoute {
  const { operation, read, parse, nextAddress, waitingAddress, oneTimeValueOf, notice } = action;
  const { entersStore, minRole } = CONTROL_OPERATIONS[operation];
  const [, , , listPath = ""] = path.split("/");
  const { addressOf = (view: StoreAndId) => storePath(view, `/${listPath}`) } = action;
  return portalRoute({ methods: ["POST"], path, minRole, entersStore }, async (context, call) => {
    const fields = requireOwnForm(context, call);
    if (!fields.ok) return fields;
    const view = viewOf(context, call);
    const storeCheck = requireStore(context, view);
    if (!storeCheck.ok) return storeCheck;
    const run = async (): Promise<Outcome<string>> => {
      const input =
        parse?.(fields.value, { context, view }) ?? accept(read?.(fields.value) ?? emptyInput(operation));
      if (!input.ok) return input;
      const body = decodeRequest(operation, input.value);
      if (!body.ok) return body;
      const work = runAsViewer(context, operation, { ...view, body: body.value });
      if (waitingAddress !== undefined && (await shouldContinue(context, view, work)))
        return accept(waitingAddress(view, context));
      const outcome = await work;
      if (!outcome.ok) return outcome;
      const address = nextAddress?.(view, outcome.value, context) ?? addressOf(view);
      const nextNotice = await notice?.(outcome.value, { context, view });
      return accept(
        addTickets(context, call, address, {
          shown: oneTimeValueOf?.(outcome.value),
          said: nextNotice && JSON.stringify(nextNotice),
        }),
      );
    };
    const result = await runOnce(context, call, fields.value, run);
    if (result.ok) return accept(redirectTo(call, result.value));
    const { refusal } = result;
    return answerRefusedForm(context, view, { form: action, addressOf, fields: fields.value, refusal });
  });
}

/**
 * Returns true if the work lasts longer than the browser should wait. Enters the store for the work, so that an erasure
 * also waits for the work (decision 91).
 */
async function shouldContinue(
  { storeGate, world, report }: PortalContext,
  { storeId, call }: View,
  work: Promise<unknown>,
): Promise<boolean> {
  if (storeGate.isClosed(storeId)) return false;
  const readStoreId = (): string => storeId;
  void storeGate.enter(readStoreId);
  const endPromise = work.then(
    () => storeGate.leave(readStoreId),
    () => storeGate.leave(readStoreId),
  );
  const isDone = await resolvesWithin(world, ACTION_TIMEOUT_MS, endPromise);
  if (!isDone) work.catch((error: unknown) => report(call.requestId, error));
  return !isDone;
}

const CONFLICT = 409;
const FORM_REFUSAL_STATUSES: ReadonlySet<number> = new Set([400, 404, CONFLICT]);

function addTickets(
  { portal }: PortalContext,
  { caller }: AreaRequest<Viewer>,
  address: string,
  texts: Readonly<Record<string, string | undefined>>,
): string {
  if (caller === undefined) return address;
  const query = new URLSearchParams(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, portal.keepOnce(caller, text)]],
    ),
  ).toString();
  if (query === "") return address;
  const [path = "", anchor] = address.split("#");
  return `${path}${path.includes("?") ? "&" : "?"}${query}${anchor === undefined ? "" : `#${anchor}`}`;
}

type RefusedAction = {
  readonly form: FormPage;
  readonly addressOf: (view: StoreAndId) => string;
  readonly fields: Fields;
  readonly refusal: Refusal;
};

async function answerRefusedForm(
  context: PortalContext,
  view: View,
  { form, addressOf, fields, refusal }: RefusedAction,
): Promise<Outcome<Answer>> {
  const { page, storeOf } = form;
  if (page === undefined || !FORM_REFUSAL_STATUSES.has(ERRORS[refusal.code].status))
    return { ok: false, refusal };
  const { call } = view;
  const storeId = storeOf?.(fields) ?? view.storeId;
  // The page of the form can belong to another store than the path of the request.
  const permission = requireStoreAccess(callerOfSession(call.caller), storeId);
  if (!permission.ok) return permission;
  const path = addressOf({ storeId, id: view.id });
  const formView: View = {
    ...view,
    call: { ...call, path, query: "", request: { ...call.request, method: "GET", target: path } },
    storeId,
    query: new URLSearchParams(),
    refusedForm: {
      action: call.path,
      fields,
      field: fieldOf(refusal, form, fields),
      words: refusal.withoutField ?? refusalWords(refusal),
    },
  };
  const show = (): Promise<Outcome<Answer>> => showRefusedForm(context, formView, page, refusal);
  if (storeId === view.storeId) return show();
  // The request entered only the store of its path, so this store is entered here (decision 91).
  const readStoreId = (): string => storeId;
  await context.storeGate.enter(readStoreId);
  try {
    return await show();
  } finally {
    context.storeGate.leave(readStoreId);
  }
}

/** If the page no longer contains the form, shows the reason at the top of the page instead. */
async function showRefusedForm(
  context: PortalContext,
  view: View,
  page: PageRenderer,
  refusal: Refusal,
): Promise<Outcome<Answer>> {
  if (view.storeId === "" || !requireStore(context, view).ok) return { ok: false, refusal };
  const content = await page(context, view);
  if (!content.ok) return { ok: false, refusal };
  const { title, main } = content.value;
  const { status } = ERRORS[refusal.code];
  const hasForm = String(main(view.language)).includes(REFUSED_CLASS_ATTRIBUTE);
  // If the page no longer contains the form, a conflict has removed it; otherwise the form was not sent from this page.
  if (!hasForm && status !== CONFLICT) return { ok: false, refusal };
  const notice: Notice = { words: refusalWords(refusal), tone: "bad" };
  const markup = framePage(context, hasForm ? view : { ...view, notice }, { title, main });
  return accept({
    ...pageResponse({ status, markup, language: view.language }, view.call.requestId),
    note: refusal.code,
  });
}

function fieldOf(
  { field: fieldName = "" }: Refusal,
  { field: fallback = "", names = {} }: FormPage,
  fields: Fields,
): string {
  const wireName = fieldName.split(".").findLast((part) => !/^\d+$/.test(part)) ?? "";
  const name = names[wireName] ?? wireName;
  return name !== "" && (fields.has(name) || wireName in names) ? name : fallback;
}

/** Runs a form once, even after a double click. Forms without a page number, such as a program's, always run. */
function runOnce(
  { portal }: PortalContext,
  { caller, path }: AreaRequest<Viewer>,
  fields: Fields,
  run: () => Promise<Outcome<string>>,
): Promise<Outcome<string>> {
  const [, pageNumber] = (fields.get("token") ?? "").split(PAGE_SEPARATOR);
  if (caller === undefined || pageNumber === undefined) return run();
  return portal.actOnce(caller, JSON.stringify([path, ...fields]), run);
}

export function runAsViewer<Name extends OperationName>(
  context: PortalContext,
  operation: Name,
  { call, storeId, id, body }: Pick<View, "call" | "storeId" | "id"> & { readonly body: RequestOf<Name> },
): Promise<Outcome<AnswerOf<Name>>> {
  const caller = callerOfSession(call.caller);
  return runOperation(context, operation, { storeId, id, requestId: call.requestId, caller, body });
}

export function requireOwnForm(context: PortalContext, call: AreaRequest<Viewer>): Outcome<Fields> {
  const origin = requireOwnPage(call.request, context.portal.origin);
  if (!origin.ok) return origin;
  const fields = parseForm(call.request);
  if (!fields.ok) return fields;
  const [token = ""] = (fields.value.get("token") ?? "").split(PAGE_SEPARATOR);
  if (call.caller !== undefined && isSameSecret(token, call.caller.formToken)) return fields;
  return refuseFact("form_of_other_session", {});
}

export function redirectTo(call: AreaRequest<Viewer>, location: string): Answer {
  return redirect(303, location, call.requestId);
}

function requireStore({ store }: PortalContext, { storeId }: View): Outcome<void> {
  return storeId === "" || store.stores.names(storeId) !== undefined
    ? accept(undefined)
    : refuseUnknownStore(storeId);
}
