/** Who wants to hear of every request, by its route and not by its path: paths are whatever a stranger types. */
import type { Endpoint } from "../lib/endpoint.ts";

/** Hears of a request before it is answered, and of the answer's status. `null` is a path that is no route. */
export interface RouteObserver {
  onRequest?(method: string, route: string | null): void;
  onAnswer?(route: string | null, status: number): void;
}

/** The same endpoint, observed; itself where nobody observes. */
export function observeRoutes(
  endpoint: Endpoint,
  routes: ReadonlySet<string>,
  observers: readonly RouteObserver[],
): Endpoint {
  if (observers.length === 0) return endpoint;
  return async (request, peer) => {
    const pathname = URL.parse(request.url)?.pathname; // none where the target is no URL: the endpoint refuses it
    const route = pathname !== undefined && routes.has(pathname) ? pathname : null;
    for (const observer of observers) observer.onRequest?.(request.method, route);
    const response = await endpoint(request, peer);
    for (const observer of observers) observer.onAnswer?.(route, response.status);
    return response;
  };
}
