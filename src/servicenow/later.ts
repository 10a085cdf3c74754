/** What other parts use of servicenow once they are loaded later themselves. */
export { unavailableCauses } from "./failure.ts";
export { createLinkStore, resealLinks } from "./link_store.ts";
export { askWhoAmI, createServicenowLinks } from "./links.ts";
export { createInstanceTokenEndpoint } from "./token_endpoint.ts";
export { createFetchOnce, createTransport } from "./transport.ts";
