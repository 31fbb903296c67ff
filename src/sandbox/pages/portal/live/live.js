// Extends htmx's extension for server-sent events: opens no stream in a hidden tab, shows whether the page is live, and
// announces changes.
const live = document.querySelector("#live");
if (live !== null) {
  const changes = document.querySelector("#changes");
  let isAsked = false;
  let isOver = false;
  let isLeft = false;

  // Announces to a screen reader, at most every ten seconds, the parts that have changed since the last announcement.
  const TOLD_EVERY_MS = 10_000;
  const partsOf = () =>
    new Map(
      [...document.querySelectorAll("#menu a, [data-told], #new-rows:not([hidden])")].map((part) => [
        part.id || part.dataset.told || part.getAttribute("href"),
        part.textContent.replaceAll(/\s+/g, " ").trim(),
      ]),
    );
  let known = partsOf();
  let toldAt = 0;
  let waits;
  let count = "";
  const tell = () => {
    waits = undefined;
    const now = partsOf();
    const changed = [...now].filter(([name, text]) => text !== "" && known.get(name) !== text);
    known = now;
    toldAt = Date.now();
    changes.textContent = changed.length === 0 ? count : changed.map(([, text]) => text).join("; ");
  };
  const tellSoon = (data) => {
    count = data;
    // Runs after htmx has inserted the changed elements.
    waits ??= setTimeout(tell, Math.max(1000, toldAt + TOLD_EVERY_MS - Date.now()));
  };

  const say = (state) => {
    live.hidden = false;
    live.dataset.state = state;
    live.classList.toggle("lost", state !== "live");
  };
  const follow = () => {
    if (document.hidden || isAsked || isOver) return;
    isAsked = true;
    // Calls htmx directly: a trigger fails if htmx processed the page before the extension was loaded.
    htmx.ajax("GET", live.getAttribute("hx-sse:connect"), { source: live });
  };

  // The tab may have been hidden while it connected.
  live.addEventListener("htmx:sse:before:connection", (event) => {
    if (document.hidden || isOver) event.preventDefault();
  });
  live.addEventListener("htmx:sse:after:connection", ({ detail }) => {
    if (document.hidden) detail.connection.abortController.abort();
  });
  live.addEventListener("htmx:sse:close", () => {
    isAsked = false;
    if (!isOver) say("lost");
  });
  live.addEventListener("htmx:sse:error", ({ detail }) => {
    isOver = detail.status >= 400 && detail.status < 500;
    say(detail.status === 401 ? "signed_out" : "lost");
  });
  // The first stream was refused, or the sandbox did not answer.
  live.addEventListener("htmx:response:error", ({ detail }) => {
    isOver = true;
    say(detail.ctx?.response?.status === 401 ? "signed_out" : "lost");
  });
  live.addEventListener("htmx:error", () => {
    isAsked = false;
    say("lost");
  });

  live.addEventListener("follows", () => say("live"));
  live.addEventListener("crowded", () => say("crowded"));
  live.addEventListener("end", ({ detail }) => {
    isOver = true;
    if (detail.data !== "reload") say(detail.data);
    // A reload would replace the page that shows the result of a submitted form.
    else if (!isLeft) location.reload();
  });
  live.addEventListener("changed", ({ detail }) => {
    tellSoon(detail.data);
  });

  document.addEventListener("submit", () => (isLeft = true));
  document.addEventListener("visibilitychange", follow);
  follow();
}
