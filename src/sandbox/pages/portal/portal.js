// What the portal's pages do in a browser, beside what they do without it: sign in by the link, show times in the
// browser's zone, copy, tick the store's clock, and the keys.

// First, so that the code is in the address for as short as can be.
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

/** A moment as its element shows it: of a list, of another day, or of the clock in the bar. */
function localText({ dataset }, date) {
  if (dataset.clock === "time") return timeOf(date);
  const isOfToday = dataset.now === undefined || dayOf(new Date(dataset.now)) === dayOf(date);
  const isDated = dataset.dated !== undefined || !isOfToday;
  if (dataset.clock === "day" || isDated) return `${dayOf(date)} ${timeOf(date)}`;
  return `${timeOf(date)}.${pad(date.getMilliseconds(), 3)}`;
}

/** Shows all times below an element in the browser's zone; what the server wrote stays on hover. */
function localTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    time.textContent = localText(time, new Date(time.dateTime));
    time.dataset.local = "";
  }
}

/** The days between the lines of a story in the browser's zone: where it changes from a line to the next. */
function localDays() {
  for (const story of document.querySelectorAll(".story")) {
    for (const day of story.querySelectorAll(".day")) day.remove();
    let before = "";
    for (const line of story.querySelectorAll(":scope > li, .under > li")) {
      const day = dayOf(new Date(line.querySelector("time").dateTime));
      if (day !== before) {
        const mark = document.createElement("li");
        mark.className = "day";
        mark.textContent = day;
        line.before(mark);
      }
      before = day;
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

/** As much as is said of a text that can be copied. */
const MAX_SAID = 80;

/** A button behind each text that is to be copied. */
function copyButtons(within) {
  for (const text of within.querySelectorAll("code.copy:not([data-ready])")) {
    text.dataset.ready = "";
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copier", textContent: words.copy });
    button.setAttribute("aria-label", `${words.copy}: ${text.textContent.slice(0, MAX_SAID)}`);
    button.addEventListener("click", () => void copy(text.textContent, button));
    text.after(button);
  }
}

function improve(within) {
  for (const element of within.querySelectorAll(".zone")) element.textContent = zone.value;
  localTimes(within);
  localDays();
  copyButtons(within);
}
improve(document);

/** The icon of the tab has a dot while something fails. */
function showAlarm() {
  const [icon, menu] = [document.querySelector("#icon"), document.querySelector("#menu")];
  if (icon === null || menu === null) return;
  const name = menu.querySelector(".alarm") === null ? icon.dataset.calm : icon.dataset.alarm;
  const address = icon.getAttribute("href").replace(/[^/]*$/, name);
  if (icon.getAttribute("href") !== address) icon.setAttribute("href", address);
}

// The clock of the store goes on from where the page was made, unless it is frozen.
let ahead = 0;
function readClock() {
  const clock = document.querySelector("#clock time");
  if (clock !== null) ahead = Date.parse(clock.dateTime) - Date.now();
}
function tickClock() {
  const clock = document.querySelector("#clock time[data-runs]");
  if (clock !== null && !document.hidden) clock.textContent = localText(clock, new Date(Date.now() + ahead));
}
readClock();
setInterval(tickClock, 1000);

// What htmx has put in place of something.
document.addEventListener("htmx:after:swap", () => {
  improve(document);
  readClock();
  showAlarm();
});

// Closes an open drop-down at a click outside it, or by Escape.
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

// A move of the clock may take a while: the page says so at once, and nothing is clicked twice.
document.addEventListener("submit", ({ target }) => {
  const ofClock = 'form.act[action$="/clock"]';
  if (!target.matches(ofClock)) return;
  document.querySelector("#moving").hidden = false;
  // Behind the event: a button that is off sends nothing.
  setTimeout(() => {
    for (const button of document.querySelectorAll(`${ofClock} button`)) button.disabled = true;
  });
});

// ---- Keys: none of them where they are switched off, or while something is typed ----

const PAGES = { c: "checkouts", w: "webhooks", r: "requests", l: "launch" };
const ACTS = { p: "/pay", r: "/replay" };
let isAfterG = false;

/**
 * Moves the focus to the link of the row before or after the one that has it; of a row without a link to the row itself,
 * so that Enter does nothing.
 */
function moveTo(step) {
  const rows = [...document.querySelectorAll("main tbody tr")];
  const at = rows.indexOf(document.activeElement?.closest("tr"));
  const next = rows[at === -1 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
  if (next === undefined) return;
  next.tabIndex = -1;
  (next.querySelector("a") ?? next).focus();
}

/** Presses the button of an act of this page; an act that asks first is only shown. */
function press(ending) {
  // Not a button that acts on many things at once.
  const acts = `main form.act[action$="${ending}"]:not([action$="s${ending}"])`;
  const buttons = document.querySelectorAll(`${acts} button`);
  // The button that the page offers first, or else the newest of several.
  const button = document.querySelector(`${acts} button.primary`) ?? [...buttons].at(-1);
  const asked = button?.closest("details:not([open])");
  if (asked) {
    asked.open = true;
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
