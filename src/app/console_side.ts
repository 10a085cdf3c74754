/** The console of one server: its routes. The code of its pages is loaded at the first request to one. */
import type { Config } from "./config/config.ts";
import type { Endpoint, Route } from "../lib/endpoint.ts";
import { loadOnce } from "../lib/program.ts";
import type { ConsoleParts } from "./console_pages.ts";

interface ConsoleSide {
  readonly routes: readonly Route[];
  /** Ends the streams of open pages. */
  close(): void;
}

/** The pages below /console, and the events of those that are open. */
const pageNames = [
  ...["live", "connections", "why", "decisions", "rules", "people", "servicenow", "audit", "change", "settings"],
  "events",
];

/** No routes where it is off. */
export function createConsoleSide(config: Config, parts: ConsoleParts): ConsoleSide {
  if (config.console.pages === "off") return { routes: [], close: () => {} };
  const load = loadOnce(async () => {
    const pages = await (await import("./console_pages.ts")).openConsolePages(config, parts);
    return {
      close: pages.close,
      endpoints: new Map(pages.routes.map(({ paths: [path], endpoint }) => [path, endpoint])),
    };
  });
  const endpointAt = (path: string): Endpoint => async (request, peer) => {
    const endpoint = (await load()).endpoints.get(path);
    if (endpoint === undefined) throw new TypeError(`The console has no page at ${path}`);
    return await endpoint(request, peer);
  };
  const names = pageNames.filter((name) => name !== "servicenow" || parts.servicenow !== null);
  return {
    routes: ["/console", ...names.map((name) => `/console/${name}`)]
      .map((path) => ({ paths: [path], kind: "page", endpoint: endpointAt(path) })),
    close: () => void load.ifLoaded(({ close }) => close()),
  };
}
