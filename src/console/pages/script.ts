/** The one script of the console: puts what the server renders anew into the page that is open. */

/**
 * Elements that an event names by id get the server's own rendering, which has escaped what callers wrote. One that
 * holds the focus waits until it is left, so that no typing is lost. What was unfolded or scrolled stays so. Where forms
 * moved, none is sent for a second: a click that was meant for one call would approve the one that took its place.
 */
export const consoleScript = `
"use strict";
(() => {
  const address = document.querySelector("[data-events]")?.dataset.events;
  const state = document.getElementById("live-state");
  if (!address || !state) return;
  const say = (words) => { if (state.textContent !== words) state.textContent = words; };
  const waiting = new Map();
  const movedAt = new WeakMap();
  const formsOf = (element) =>
    Array.from(element.querySelectorAll("form input[type=hidden]"), ({ value }) => value).join();
  const put = (id, markup) => {
    const element = document.getElementById(id);
    if (element === null) return;
    if (element.contains(document.activeElement)) {
      waiting.set(id, markup);
      return say("Changes wait while you are in the list.");
    }
    const forms = formsOf(element);
    const open = Array.from(element.querySelectorAll("details[open][id]"), ({ id }) => id);
    const scrolled = Array.from(element.querySelectorAll(".scroll"), ({ scrollLeft }) => scrollLeft);
    element.innerHTML = markup;
    for (const each of open) document.getElementById(each)?.setAttribute("open", "");
    element.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolled[index] ?? 0; });
    if (!formsOf(element).startsWith(forms)) movedAt.set(element, performance.now());
  };
  document.addEventListener("submit", (event) => {
    for (let at = event.target; at !== null; at = at.parentElement) {
      if (performance.now() - (movedAt.get(at) ?? -Infinity) > 1000) continue;
      event.preventDefault();
      say("Nothing was sent: the list changed as you clicked. Look again.");
    }
  });
  document.addEventListener("focusout", () => setTimeout(() => {
    if (waiting.size === 0) return;
    const changes = [...waiting];
    waiting.clear();
    say("Updates live");
    for (const [id, markup] of changes) put(id, markup);
  }, 0));
  let refusals = 0;
  const connect = () => {
    const source = new EventSource(address);
    source.onopen = () => { refusals = 0; say("Updates live"); };
    source.onmessage = (event) => {
      for (const [id, markup] of Object.entries(JSON.parse(event.data))) put(id, markup);
    };
    source.onerror = () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      say(isRefused
        ? "No longer live: you were signed out, or the server is away. Reload the page to go on."
        : "Connecting again");
      if (isRefused && ++refusals <= 6) setTimeout(connect, 5000);
    };
  };
  connect();
})();
`;
