// These pages also work without this script, which adds sign-in by link, times in the browser's zone, copy buttons, a
// running store clock and keyboard shortcuts.

// Runs first, to remove the sign-in code from the address as soon as possible.
const code = new URLSearchParams(location.hash.slice(1)).get("t");
const form = document.querySelector("#sign-in");
if (code !== null && form !== null) {
  history.replaceState(null, "", location.pathname + location.search);
  const field = form.elements.namedItem("code");
  if (field !== null) {
    field.value = code;
    form.requestSubmit();
  }
}

const pad = (number, length = 2) => String(number).padStart(length, "0");
const dayOf = (date) => `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
const timeOf = (date) => `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;

function localText({ dataset }, date) {
  if (dataset.clock === "time") return timeOf(date);
  const isOfToday = dataset.now === undefined || dayOf(new Date(dataset.now)) === dayOf(date);
  const isDated = dataset.dated !== undefined || !isOfToday;
  if (dataset.clock === "day" || isDated) return `${dayOf(date)} ${timeOf(date)}`;
  return `${timeOf(date)}.${pad(date.getMilliseconds(), 3)}`;
}

/** The `title` keeps the time in UTC. */
function showLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    time.textContent = localText(time, new Date(time.dateTime));
    time.dataset.local = "";
  }
}

/** The server's days are in UTC; replaces them with days in the browser's time zone. */
function insertDays() {
  for (const story of document.querySelectorAll(".story")) {
    for (const day of story.querySelectorAll(".day")) day.remove();
    let lastDay = "";
    for (const line of story.querySelectorAll(":scope > li, .under > li")) {
      const day = dayOf(new Date(line.querySelector("time").dateTime));
      if (day !== lastDay) {
        const mark = document.createElement("li");
        mark.className = "day";
        mark.textContent = day;
        line.before(mark);
      }
      lastDay = day;
    }
  }
}

const zone = new Intl.DateTimeFormat(document.documentElement.lang, { timeZoneName: "short" })
  .formatToParts()
  .find(({ type }) => type === "timeZoneName");

const words = document.documentElement.lang.startsWith("zh")
  ? { copy: "复制", copied: "已复制" }
  : { copy: "Copy", copied: "Copied" };

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  button.textContent = words.copied;
  setTimeout(() => (button.textContent = words.copy), 1500);
}

const MAX_TEXT_LENGTH = 80;

function addCopyButtons(within) {
  for (const text of within.querySelectorAll("code.copy:not([data-ready])")) {
    text.dataset.ready = "";
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copier", textContent: words.copy });
    button.setAttribute("aria-label", `${words.copy}: ${text.textContent.slice(0, MAX_TEXT_LENGTH)}`);
    button.addEventListener("click", () => void copy(text.textContent, button));
    text.after(button);
  }
}

function improve(within) {
  for (const element of within.querySelectorAll(".zone")) element.textContent = zone.value;
  showLocalTimes(within);
  insertDays();
  addCopyButtons(within);
}
improve(document);

/** Shows the alarm of the menu on the icon of the browser tab too. */
function showAlarm() {
  const [icon, menu] = [document.querySelector("#icon"), document.querySelector("#menu")];
  if (icon === null || menu === null) return;
  const name = menu.querySelector(".alarm") === null ? icon.dataset.calm : icon.dataset.alarm;
  const address = icon.getAttribute("href").replace(/[^/]*$/, name);
  if (icon.getAttribute("href") !== address) icon.setAttribute("href", address);
}

// The store's clock minus the browser's clock, so that the page's clock can run between updates.
let aheadMs = 0;
function readClock() {
  const clock = document.querySelector("#clock time");
  if (clock !== null) aheadMs = Date.parse(clock.dateTime) - Date.now();
}
function tickClock() {
  const clock = document.querySelector("#clock time[data-runs]");
  if (clock !== null && !document.hidden)
    clock.textContent = localText(clock, new Date(Date.now() + aheadMs));
}
readClock();
setInterval(tickClock, 1000);

document.addEventListener("htmx:after:swap", () => {
  improve(document);
  readClock();
  showAlarm();
});

// `<details>` does not close by itself on a click elsewhere or on Escape.
document.addEventListener("click", ({ target }) => {
  for (const open of document.querySelectorAll("details.drop[open]"))
    if (!open.contains(target)) open.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const open of document.querySelectorAll("details.drop[open]")) {
    open.open = false;
    open.querySelector("summary").focus();
  }
});

// Moving the clock can take long, so the page says so at once and prevents a second submit.
document.addEventListener("submit", ({ target }) => {
  const formSelector = 'form.act[action$="/clock"]';
  if (!target.matches(formSelector)) return;
  document.querySelector("#moving").hidden = false;
  // After the event, because a disabled button is not submitted.
  setTimeout(() => {
    for (const button of document.querySelectorAll(`${formSelector} button`)) button.disabled = true;
  });
});

// Keyboard shortcuts: only with `data-keys`, and not in input fields.

const PAGES = { c: "checkouts", w: "webhooks", r: "requests", l: "launch" };
const ACTS = { p: "/pay", r: "/replay" };
let isAfterG = false;

/** Focuses the row's link; a row without a link gets the focus itself, so that Enter opens nothing. */
function moveTo(step) {
  const rows = [...document.querySelectorAll("main tbody tr")];
  const at = rows.indexOf(document.activeElement?.closest("tr"));
  const next = rows[at === -1 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
  if (next === undefined) return;
  next.tabIndex = -1;
  (next.querySelector("a") ?? next).focus();
}

/** If the action needs a confirmation, opens the confirmation instead of submitting. */
function press(ending) {
  // Excludes actions on a whole list, such as `…/events/replay`.
  const selector = `main form.act[action$="${ending}"]:not([action$="s${ending}"])`;
  const buttons = document.querySelectorAll(`${selector} button`);
  // Prefers the page's primary button, otherwise the last button, which belongs to the newest entry.
  const button = document.querySelector(`${selector} button.primary`) ?? [...buttons].at(-1);
  const confirmation = button?.closest("details:not([open])");
  if (confirmation) {
    confirmation.open = true;
    button.focus();
  } else button?.click();
}

function goTo(page) {
  document.querySelector(`#menu a[href$="/${page}"]`)?.click();
}

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (target.closest("input, select, textarea, [contenteditable], dialog[open]")) return;
  const wasAfterG = isAfterG;
  isAfterG = key === "g" && !wasAfterG;
  if (wasAfterG) goTo(PAGES[key]);
  else if (key === "/") document.querySelector("#search")?.focus();
  else if (key === "?") document.querySelector("#keys").showModal();
  else if (key === "j" || key === "k") moveTo(key === "j" ? 1 : -1);
  else if (ACTS[key] !== undefined) press(ACTS[key]);
  else return;
  event.preventDefault();
}

if (document.body.dataset.keys !== undefined) document.addEventListener("keydown", onKey);
