/** The spellings of this resource's URL, and which of them a request was made to. Unknown hosts are never reflected. */
import { requestHost } from "../lib/request_host.ts";

/** A protected resource as clients know it. */
export interface ResourceSpelling {
  /** RFC 9728 §1.2 resource identifier. */
  readonly resource: string;
  /** Where its metadata document is (RFC 9728 §3.1). */
  readonly metadataUrl: string;
}

/** Finds the spelling that fits a request's Host, or else the canonical one. */
export type SpellingOf = (request: Request) => ResourceSpelling;

function spell(resource: string): ResourceSpelling {
  const url = new URL(resource);
  const path = url.pathname === "/" ? "" : url.pathname;
  return { resource, metadataUrl: `${url.origin}/.well-known/oauth-protected-resource${path}${url.search}` };
}

/** Builds the lookup. The first spelling is the canonical one. */
export function createSpellings(
  spellings: readonly [string, ...string[]],
): { readonly spellingOf: SpellingOf; readonly all: readonly ResourceSpelling[] } {
  const all = spellings.map(spell);
  const canonical = spell(spellings[0]);
  const byHost = new Map(all.toReversed().map((spelling) => [new URL(spelling.resource).host, spelling]));
  const spellingOf: SpellingOf = (request) => {
    const host = requestHost(request)?.toLowerCase() ?? "";
    return byHost.get(host) ?? canonical;
  };
  return { spellingOf, all };
}
