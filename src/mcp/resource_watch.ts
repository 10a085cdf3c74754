/** Watches resources on behalf of one stream. */
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { ResourceFamily, ResourceListener, ResourceRegistry } from "./resource.ts";
import type { ResourceNotices } from "./initialize.ts";

/** The family that an address belongs to. */
export function familyOf(resources: ResourceRegistry, uri: string): ResourceFamily | undefined {
  return resources.all().find((family) => family.owns(uri));
}

/** The one spelling of an address. */
export function canonicalUri(resources: ResourceRegistry, uri: string): string {
  return familyOf(resources, uri)?.canonical?.(uri) ?? uri;
}

/** Whether the principal may read what the address names, if it names anything, and can be told of its changes. */
export async function mayWatch(resources: ResourceRegistry, principal: Principal, uri: string): Promise<boolean> {
  const family = familyOf(resources, uri);
  return family?.watch !== undefined && hasScopes(principal, family.scopes) &&
    (await family.mayWatch?.(uri, principal) ?? true);
}

/** Of what the families that there are now can give notice: a list only if all that may change it tell so. */
export function noticesOf(resources: ResourceRegistry): ResourceNotices {
  const families = resources.all();
  return {
    ofResources: families.some(({ watch }) => watch !== undefined),
    ofLists: families.every(({ watch, hasVaryingList }) => watch !== undefined || hasVaryingList !== true),
  };
}

/** What a stream watches. */
interface WatchedResources {
  readonly uris: Iterable<string>;
  /** Also that resources appear and disappear. */
  readonly lists: boolean;
}

/** Listens to the families of what is wanted, and to no other, until the returned function is called. */
export function watchFamilies(
  resources: ResourceRegistry,
  principal: Principal,
  { uris, lists }: WatchedResources,
  listener: ResourceListener,
): () => void {
  const families = new Set<ResourceFamily>();
  for (const uri of uris) {
    const family = familyOf(resources, uri);
    if (family !== undefined) families.add(family);
  }
  if (lists) { for (const family of resources.all()) if (family.hasVaryingList === true) families.add(family); }
  const allowed = [...families].filter(({ scopes }) => hasScopes(principal, scopes));
  const stops = allowed.map((family) => family.watch?.(principal, listener));
  return () => {
    for (const stop of stops) stop?.();
  };
}
