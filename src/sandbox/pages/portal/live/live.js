// What htmx's extension for server-sent events does not do: it opens no stream in a tab that nobody sees, says whether
// the page is live, and what has changed.
const live = document.querySelector("#live");
if (live !== null) {
  const changes = document.querySelector("#changes");
  let isAsked = false;
  let isOver = false;

  const say = (state) => {
    live.hidden = false;
    live.dataset.state = state;
    live.classList.toggle("lost", state !== "live");
  };
  const follow = () => {
    if (document.hidden || isAsked || isOver) return;
    isAsked = true;
    // Not by a trigger: htmx may have looked at the page before the extension was there.
    htmx.ajax("GET", live.getAttribute("hx-sse:connect"), { source: live });
  };

  // A tab that was hidden while it connected.
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
    say("lost");
  });
  // The first stream was refused, or nobody answered.
  live.addEventListener("htmx:response:error", () => {
    isOver = true;
    say("lost");
  });
  live.addEventListener("htmx:error", () => {
    isAsked = false;
    say("lost");
  });

  live.addEventListener("follows", () => say("live"));
  live.addEventListener("crowded", () => say("crowded"));
  live.addEventListener("end", ({ detail }) => {
    isOver = true;
    if (detail.data === "reload") location.reload();
    else say(detail.data);
  });
  live.addEventListener("changed", ({ detail }) => {
    if (changes !== null) changes.textContent = detail.data;
  });

  document.addEventListener("visibilitychange", follow);
  follow();
}
