/** The one script of the console: puts what the server renders anew into the page that is open. */

/**
 * Elements that an event names by id get the server's own rendering, which has escaped what callers wrote. One that
 * holds the focus waits until it is left, so that no typing is lost.
 */
export const consoleScript = `
"use strict";
(() => {
  const address = document.querySelector("[data-events]")?.dataset.events;
  const state = document.getElementById("live-state");
  if (!address || !state) return;
  const waiting = new Map();
  const put = (id, markup) => {
    const element = document.getElementById(id);
    if (element === null) return;
    if (element.contains(document.activeElement) || element.querySelector("details[open]")) waiting.set(id, markup);
    else element.innerHTML = markup;
  };
  document.addEventListener("focusout", () => setTimeout(() => {
    for (const [id, markup] of [...waiting]) { waiting.delete(id); put(id, markup); }
  }, 0));
  const source = new EventSource(address);
  source.onopen = () => { state.textContent = "Live"; };
  source.onmessage = (event) => {
    for (const [id, markup] of Object.entries(JSON.parse(event.data))) put(id, markup);
  };
  source.onerror = () => {
    state.textContent = source.readyState === EventSource.CLOSED
      ? "No longer live. Reload the page to go on."
      : "Connecting again";
  };
})();
`;
