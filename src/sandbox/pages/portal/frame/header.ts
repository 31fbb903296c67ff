import { displayStoreName } from "../../../../core/config/store-name.ts";
import { toIso } from "../../../../core/clock.ts";
import { html, type Html, type Text } from "../../../../web/html.ts";
import type { Language, Words } from "../../../../core/language.ts";
import { languageTagOf } from "../../../../web/language.ts";
import { storeTime } from "../../../with-store.ts";
import type { PortalRole } from "../../../runtime/portal-access.ts";
import { liveStatusHtml } from "../live/parts.ts";
import { momentWithDate } from "../parts.ts";
import { actionForm, formWithConfirmation, storePath } from "../forms.ts";
import { menuCounts } from "./menu-counts.ts";
import { hasFinishedFirstSteps } from "../store/first-steps.ts";
import { homePathOf, SIGN_OUT_EVERYWHERE_PATH } from "../sign-in/session-cookie.ts";
import { BRAND_MARK } from "../assets.ts";
import { FRAME_TEXTS } from "../texts.ts";
import type { ListUpdates, PortalContext, View } from "../view.ts";

export function headerBar(context: PortalContext, view: View, listUpdates: ListUpdates | undefined): Html {
  const role = view.call.caller?.role ?? "merchant";
  const hasStore = view.storeId !== "";
  return html`<header class="bar">
    ${BRAND_MARK}
    ${role === "administrator" ? html`<strong>${FRAME_TEXTS.administrator}</strong>` : storesMenu(context, view)}
    <span class="test">${FRAME_TEXTS.test}</span>
    ${hasStore ? clockLink(context, view) : ""}
    ${hasStore && role === "merchant" ? searchForm(view) : html`<span class="search"></span>`}
    ${liveStatusHtml(listUpdates, view)} ${languageSwitch(view, role)} ${sessionMenu(view, role)}
  </header>`;
}

export function barWithoutMenu(name: Text): Html {
  return html`<header class="bar">
    ${BRAND_MARK}<strong>${name}</strong><span class="test">${FRAME_TEXTS.test}</span>
  </header>`;
}

export function storeMenu(context: PortalContext, view: View): Html {
  if (view.storeId === "") return html``;
  const { openCount, failingCount, launchCount } = menuCounts(context, view.storeId);
  const counts: Readonly<Partial<Record<MenuPage, Html>>> = {
    checkouts: openCount === "0" ? html`` : countBadge(openCount, FRAME_TEXTS.open),
    webhooks:
      failingCount === 0
        ? html``
        : html`<span class="count alarm">${String(failingCount)}!${hiddenText(FRAME_TEXTS.failing)}</span>`,
    launch: countBadge(launchCount, FRAME_TEXTS.passed),
  };
  return html`<nav class="menu" id="menu" aria-label="${FRAME_TEXTS.menu}">
    <ul>
      ${menuEntries(view, hasFinishedFirstSteps(context, view.storeId)).map(([name, words]) => {
        const address = storePath(view, `/${name}`);
        const isCurrent = view.call.path === address || view.call.path.startsWith(`${address}/`);
        const groupClass = GROUP_STARTS.has(name) ? html` class="apart"` : html``;
        return html`<li${groupClass}><a href="${address}"${isCurrent ? html` aria-current="page"` : ""}><span>${words}</span>${counts[name] ?? ""}</a></li>`;
      })}
    </ul>
  </nav>`;
}

type MenuPage = (typeof MENU_PAGES)[number];

const MENU_PAGES = [
  "overview",
  "checkouts",
  "webhooks",
  "requests",
  "catalog",
  "keys",
  "connect",
  "settings",
  "clock",
  "faults",
  "launch",
  "stores",
] as const;

function menuEntries(view: View, isDone: boolean): readonly (readonly [page: MenuPage, words: Words])[] {
  const pages = MENU_PAGES.filter((name) => view.may("GET", storePath(view, `/${name}`)));
  const entries = pages.map((name) => [name, FRAME_TEXTS[name]] as const);
  if (isDone || !pages.includes("connect")) return entries;
  const otherEntries = entries.filter(([name]) => name !== "overview" && name !== "connect");
  return [["connect", FRAME_TEXTS.start], ...otherEntries];
}

const GROUP_STARTS: ReadonlySet<string> = new Set(["catalog", "launch"]);

function countBadge(text: string, meaning: Words): Html {
  return html`<span class="count">${text}${hiddenText(meaning)}</span>`;
}

function hiddenText(words: Words): Html {
  return html`<span class="visually-hidden"> ${words}</span>`;
}

function storesMenu({ store }: PortalContext, view: View): Html {
  if (view.storeId === "") return html`<strong><a href="/portal">${FRAME_TEXTS.portal}</a></strong>`;
  const name = store.stores.names(view.storeId)?.store ?? "";
  if (view.call.caller?.limit !== undefined)
    return html`<strong><a href="${storePath(view, "/start")}">${displayStoreName(name)}</a></strong>`;
  const allStores = store.stores.all().slice(0, MAX_STORES);
  return html`<details class="drop">
    <summary>${displayStoreName(name)}${hiddenText(FRAME_TEXTS.chooseStore)}</summary>
    <ul>
      ${allStores.map(
        ({ id, store: otherStore }) =>
          html`<li>
            <a href="/portal/${id}/start" ${id === view.storeId ? html` aria-current="true"` : ""}
              >${displayStoreName(otherStore)}</a
            >
          </li>`,
      )}
      <li><a href="${storePath(view, "/stores")}">${FRAME_TEXTS.allStores}</a></li>
    </ul>
  </details>`;
}

const MAX_STORES = 20;

function clockLink(context: PortalContext, view: View): Html {
  const storeClock = context.store.clocks.of(view.storeId);
  const isFrozen = storeClock !== undefined && storeClock.frozenAt !== null;
  const isMoved = storeClock !== undefined && (isFrozen || storeClock.offsetMs !== 0);
  const isoText = toIso(storeTime(context, view.storeId));
  const day = isMoved ? `${isoText.slice(0, 10)} ` : "";
  const runsAttribute = isFrozen ? html`` : html` data-runs`;
  return html`<a class="clock" id="clock" href="${storePath(view, "/clock")}"
    >${hiddenText(FRAME_TEXTS.storeTime)}<time
      datetime="${isoText}"
      title="${isoText}"
      data-clock="${isMoved ? "day" : "time"}"
      ${runsAttribute}
      >${day}${isoText.slice(11, 19)}</time
    >
    <span class="zone">UTC</span
    >${isMoved ? html`<span class="frozen">${isFrozen ? FRAME_TEXTS.frozen : FRAME_TEXTS.moved}</span>` : ""}</a
  >`;
}

function searchForm(view: View): Html {
  return html`<form class="search" role="search" method="get" action="${storePath(view, "/find")}">
    <input
      type="search"
      name="q"
      id="search"
      maxlength="200"
      autocomplete="off"
      aria-label="${FRAME_TEXTS.search}"
      placeholder="${FRAME_TEXTS.searchHint}"
      value="${view.call.path.endsWith("/find") ? (view.query.get("q") ?? "") : ""}"
    />
  </form>`;
}

const OTHER_LANGUAGE: Readonly<Record<Language, readonly [tag: Language, name: string]>> = {
  en: ["zh", "中文"],
  zh: ["en", "English"],
};

function languageSwitch(view: View, role: PortalRole): Html {
  const [language, name] = OTHER_LANGUAGE[view.language];
  return html`<form method="post" action="${homePathOf(role)}/preferences">
    ${hiddenFields(view)}
    <button class="link" name="language" value="${language}" lang="${languageTagOf(language)}">
      ${name}
    </button>
  </form>`;
}

function sessionMenu(view: View, role: PortalRole): Html {
  const hasShortcuts = view.call.caller?.hasShortcuts === true;
  const limit = view.call.caller?.limit;
  return html`<details class="drop end">
    <summary>
      <span class="word">${limit === undefined ? FRAME_TEXTS.session : FRAME_TEXTS.roles[limit.role]}</span>
    </summary>
    <div>
      ${
        limit === undefined
          ? ""
          : html`<p>${FRAME_TEXTS.rolesHint[limit.role]}</p>
              <p class="hint">${FRAME_TEXTS.sessionEnds} ${momentWithDate(limit.expiresAt)}</p>`
      }
      <form method="post" action="${homePathOf(role)}/preferences">
        ${hiddenFields(view)}
        <p class="hint">${hasShortcuts ? FRAME_TEXTS.keysAreOn : FRAME_TEXTS.keysAreOff}</p>
        <button name="keys" value="${hasShortcuts ? "off" : "on"}">
          ${hasShortcuts ? FRAME_TEXTS.keysOff : FRAME_TEXTS.keysOn}
        </button>
      </form>
      ${actionForm(view, { action: `${homePathOf(role)}/sign-out`, label: FRAME_TEXTS.signOut })}
      ${role === "administrator" ? "" : signOutEverywhere(view)}
      ${role === "administrator" || limit !== undefined ? "" : html`<p><a href="${homePathOf("administrator")}">${FRAME_TEXTS.signInAdmin}</a></p>`}
    </div>
  </details>`;
}

function signOutEverywhere(view: View): Html {
  const { signOutEverywhere: title, signOutEverywhereAsk, signOutEverywhereSure } = FRAME_TEXTS;
  const action = SIGN_OUT_EVERYWHERE_PATH;
  return formWithConfirmation(view, [title, signOutEverywhereAsk, signOutEverywhereSure], { action });
}

function hiddenFields({ call, query, formToken }: View): Html {
  const keptQuery = new URLSearchParams(query);
  // The page after the redirect must not show a one-time value or notice again.
  keptQuery.delete("shown");
  keptQuery.delete("said");
  const backPath = keptQuery.size === 0 ? call.path : `${call.path}?${keptQuery.toString()}`;
  return html`<input type="hidden" name="token" value="${formToken}" /><input
      type="hidden"
      name="back"
      value="${call.request.method === "POST" ? "" : backPath}"
    />`;
}
