/**
 * What modules that are themselves loaded late use of servicenow: `doctor`, which asks an instance before
 * a server runs, and a change of the master key. Without a configured instance nothing here is loaded.
 */
export { unavailableCauses } from "./failure.ts";
export { resealLinks } from "./link_store.ts";
export { createInstanceTokenEndpoint } from "./links.ts";
export { createFetchOnce, createTransport } from "./transport.ts";
