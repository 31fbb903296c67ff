/* Reports that the customer opened the page or left it for the shop; only the portal shows these reports. */
function reportView(kind) {
  const views = document.querySelector("page-views");
  if (views !== null)
    navigator.sendBeacon(
      views.getAttribute("to"),
      new URLSearchParams({ kind, token: views.getAttribute("token") }),
    );
}

/* The customer came from outside the payment pages; forms of these pages, a reload and the back button do not count. */
const isArrival =
  performance.getEntriesByType("navigation")[0]?.type === "navigate" &&
  !document.referrer.startsWith(`${location.origin}/`);
if (isArrival) reportView("opened");

addEventListener("click", ({ target }) => {
  const link = target.closest("a[href]");
  if (link !== null && link.origin !== location.origin) reportView("returned");
});

/* Counts down, then opens the shop's page. A customer who comes back to this page sees no second countdown. */
customElements.define(
  "send-back",
  class extends HTMLElement {
    connectedCallback() {
      if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
        this.remove();
        return;
      }
      let seconds = Number(this.getAttribute("seconds"));
      this.timer = setInterval(() => {
        seconds -= 1;
        this.querySelector("[data-seconds]").textContent = String(Math.max(0, seconds));
        if (seconds > 0) return;
        clearInterval(this.timer);
        reportView("returned");
        location.assign(this.getAttribute("href"));
      }, 1000);
    }

    disconnectedCallback() {
      clearInterval(this.timer);
    }
  },
);

addEventListener("pageshow", (event) => {
  if (event.persisted) for (const timer of document.querySelectorAll("send-back")) timer.remove();
});
