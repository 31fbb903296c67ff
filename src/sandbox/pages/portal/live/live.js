// Shows whether the page is live, and announces changes. `pollAttributes` in parts.ts makes htmx poll each second.
const live = document.querySelector("#live");
if (live !== null) {
  const changes = document.querySelector("#changes");

  // At most every 10 seconds, screen readers announce the parts that changed since the last announcement.
  const INTERVAL_MS = 10_000;
  const partsOf = () =>
    new Map(
      [...document.querySelectorAll("#menu a, [data-told], #new-rows:not([hidden])")].map((part) => [
        part.id || part.dataset.told || part.getAttribute("href"),
        part.textContent.replaceAll(/\s+/g, " ").trim(),
      ]),
    );
  let lastParts = partsOf();
  let announcedAt = 0;
  let timer;
  const announce = () => {
    timer = undefined;
    const parts = partsOf();
    const changed = [...parts].filter(([name, text]) => text !== "" && lastParts.get(name) !== text);
    lastParts = parts;
    announcedAt = Date.now();
    changes.textContent =
      changed.length === 0 ? changes.dataset.other : changed.map(([, text]) => text).join("; ");
  };
  document.addEventListener("htmx:after:swap", () => {
    timer ??= setTimeout(announce, Math.max(1000, announcedAt + INTERVAL_MS - Date.now()));
  });

  const showState = (state) => {
    live.hidden = false;
    live.dataset.state = state;
    live.classList.toggle("lost", state !== "live");
    for (const text of document.querySelectorAll("[data-when]")) text.hidden = text.dataset.when !== state;
  };
  // After this many unanswered polls, a bar over the page says that the sandbox does not answer.
  const MAX_MISSED = 3;
  let missedCount = 0;
  const countMiss = () => {
    missedCount += 1;
    showState(missedCount < MAX_MISSED ? "lost" : "silent");
  };
  const END_STATES = { 401: "signed_out", 404: "gone" };
  let isOver = false;

  // A submitted form leads to another page, so this page stops polling.
  let isLeft = false;
  document.addEventListener("submit", ({ target }) => (isLeft = target.getAttribute("method") !== "dialog"));
  window.addEventListener("pageshow", () => (isLeft = false));

  document.addEventListener("htmx:config:request", (event) => {
    if (document.hidden || isOver || isLeft) event.preventDefault();
  });
  document.addEventListener("htmx:before:response", (event) => {
    const { status } = event.detail.ctx.response;
    isOver = END_STATES[status] !== undefined;
    if (isOver) showState(END_STATES[status]);
    else if (status >= 400) countMiss();
    else {
      missedCount = 0;
      showState("live");
    }
    // An unchanged page (304), an error or an answer after leaving must not replace the page.
    if (isLeft || status === 304 || status >= 400) event.preventDefault();
  });
  document.addEventListener("htmx:error", countMiss);
  showState("live");
}
