/* Counts down to the way back to the shop, and goes there. Not again for a customer who comes back to this page. */
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
        location.assign(this.getAttribute("href"));
      }, 1000);
    }

    disconnectedCallback() {
      clearInterval(this.timer);
    }
  },
);

addEventListener("pageshow", (event) => {
  if (event.persisted) for (const one of document.querySelectorAll("send-back")) one.remove();
});
