/**
 * What modules that are themselves loaded late use of servicenow: `doctor --servicenow`, which asks an instance before
 * a server runs, and a change of the master key. Without a configured instance nothing here is loaded.
 */
export { unavailableCauses } from "./failure.ts";
export { createLinkStore, resealLinks } from "./link_store.ts";
export { askWhoAmI, createInstanceTokenEndpoint, createServicenowLinks } from "./links.ts";
export { createFetchOnce, createTransport } from "./transport.ts";
