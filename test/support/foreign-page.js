// The requests of an attacker's page, run in a browser: see portal-foreign.test.ts.

const FORM = "application/x-www-form-urlencoded";
/** Timeout for the end of an attempt: long, because the machine may be busy. */
const ATTEMPT_TIMEOUT_MS = 30_000;

/**
 * Sends each attempt in several ways. Returns the answers that the page could read or load, and attempts that did not
 * end; after such an attempt none is started. `refusals`: patterns of the refusals that it may read.
 */
async function attack(attempts, refusals) {
  const found = [];
  const note = (how, url, what) => found.push(`${how} ${url}: ${what.slice(0, 80)}`);
  const left = [...attempts];
  let isGivenUp = false;
  const giveUp = (how, url) => {
    note(how, url, `came to no end in ${ATTEMPT_TIMEOUT_MS} ms`);
    isGivenUp = true;
  };
  // If the page's own host name is refused, the page can read that refusal.
  const isTold = (text) => text !== "" && !refusals.some((pattern) => new RegExp(pattern).test(text));

  const fetched = async ({ url, body }, method, mode) => {
    const sent = method === "GET" ? {} : { body, headers: { "Content-Type": FORM } };
    try {
      const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
      const answer = await fetch(url, { method, mode, credentials: "include", signal, ...sent });
      const text = await answer.text();
      if (isTold(text)) note(`${mode} ${method}`, url, text);
    } catch (error) {
      // Any other error means that the browser did not let the page read the answer.
      if (error.name === "TimeoutError") giveUp(`${mode} ${method}`, url);
    }
  };

  /** Resolves when `begin` reports the end of the attempt, or after the timeout. */
  const over = (how, url, begin) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        giveUp(how, url);
        resolve();
      }, ATTEMPT_TIMEOUT_MS);
      begin(() => {
        clearTimeout(timer);
        resolve();
      });
    });

  const loaded = (tag, attribute, url) =>
    over(tag, url, (end) => {
      const element = document.createElement(tag);
      if (tag === "link") element.rel = "stylesheet";
      element.addEventListener("load", () => {
        note(tag, url, "was loaded");
        end();
      });
      element.addEventListener("error", end);
      element.setAttribute(attribute, url);
      document.head.append(element);
    });

  const framed = ({ url, body, isForm }) =>
    over("frame", url, (end) => {
      const frame = document.createElement("iframe");
      frame.name = `frame-${Math.random()}`;
      let loads = 0;
      frame.addEventListener("load", () => {
        loads += 1;
        const text = frame.contentDocument?.body?.textContent ?? "";
        if (isTold(text)) note("frame", url, text);
        // The frame of a form first loads empty.
        if (loads >= (isForm ? 2 : 1)) end();
      });
      if (!isForm) frame.src = url;
      document.body.append(frame);
      if (!isForm) return;
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: url, target: frame.name });
      for (const [name, value] of new URLSearchParams(body)) {
        const field = document.createElement("input");
        Object.assign(field, { type: "hidden", name, value });
        form.append(field);
      }
      document.body.append(form);
      form.submit();
    });

  const each = async (attempt) => {
    const steps = [
      ...["GET", "POST", "PUT", "DELETE"].map((method) => () => fetched(attempt, method, "cors")),
      ...["GET", "POST"].map((method) => () => fetched(attempt, method, "no-cors")),
      () => fetched(attempt, "GET", "same-origin"),
    ];
    if (!attempt.isForm) {
      steps.push(
        () => loaded("img", "src", attempt.url),
        () => loaded("script", "src", attempt.url),
        () => loaded("link", "href", attempt.url),
      );
    }
    steps.push(() => framed(attempt));
    for (const step of steps) if (!isGivenUp) await step();
  };

  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await each(next);
  };
  await Promise.all([work(), work(), work(), work()]);
  return found;
}

globalThis.attack = attack;
