/** Hears of changes to resources on behalf of one stream. */
import type { Principal } from "../lib/principal.ts";
import type { ResourceFamily, ResourceListener, ResourceRegistry } from "./resource.ts";
import { hasScopes } from "./scopes.ts";

/** The family that an address belongs to. */
export function familyOf(resources: ResourceRegistry, uri: string): ResourceFamily | undefined {
  return resources.all().find((family) => family.owns(uri));
}

/** Whether the principal may read what the address names, if it names anything. */
export function mayRead(resources: ResourceRegistry, principal: Principal, uri: string): boolean {
  const family = familyOf(resources, uri);
  return family !== undefined && hasScopes(principal, family.scopes);
}

/** Listens to the families of these addresses, and to no other, until the returned function is called. */
export function watchFamilies(
  resources: ResourceRegistry,
  principal: Principal,
  uris: Iterable<string>,
  listener: ResourceListener,
): () => void {
  const families = new Set<ResourceFamily>();
  for (const uri of uris) {
    const family = familyOf(resources, uri);
    if (family !== undefined && hasScopes(principal, family.scopes)) families.add(family);
  }
  const stops = Array.from(families, (family) => family.watch?.(principal, listener));
  return () => {
    for (const stop of stops) stop?.();
  };
}
