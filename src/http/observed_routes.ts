/** Observers of every request, by its route and not by its path: paths are whatever a stranger types. */
import type { Endpoint } from "../lib/endpoint.ts";

/** What is done beside answering; `null` is a path that is no route. */
export interface RouteObserver {
  /** Answers by calling `answer`, for instance within a span. */
  around?(request: Request, route: string | null, answer: () => Promise<Response>): Promise<Response>;
  onAnswer?(route: string | null, status: number): void;
}

/** The same endpoint, observed; itself where there is no observer. */
export function observeRoutes(
  endpoint: Endpoint,
  routes: ReadonlySet<string>,
  observers: readonly RouteObserver[],
): Endpoint {
  if (observers.length === 0) return endpoint;
  return async (request, peer) => {
    const pathname = URL.parse(request.url)?.pathname; // none where the target is no URL: the endpoint refuses it
    const route = pathname !== undefined && routes.has(pathname) ? pathname : null;
    let answer = async (): Promise<Response> => await endpoint(request, peer);
    for (const { around } of observers) {
      if (around === undefined) continue;
      const inner = answer;
      answer = () => around(request, route, inner);
    }
    const response = await answer();
    for (const observer of observers) observer.onAnswer?.(route, response.status);
    return response;
  };
}
