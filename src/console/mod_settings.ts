/**
 * The console's one setting: whether its pages are served. Stored rules hold either way. `app` reads it before the
 * rest of the console is loaded.
 */
import { parseChoice, required } from "../lib/settings.ts";

/** Settings under the heading Console. */
export const consoleSettings = {
  pages: required({
    env: "CONSOLE",
    default: "on",
    parse: parseChoice(["on", "off"]),
    help: "whether the pages at /console are served; off refuses calls that would wait for approval there",
  }),
};
