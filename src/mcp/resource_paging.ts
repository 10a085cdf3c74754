/** `resources/list` in pages, over families that each list their own: a page may end in the midst of one. */
import * as z from "zod";
import type { Principal } from "../lib/principal.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Page } from "./paging.ts";
import type { Resource, ResourceFamily, ResourcePage } from "./resource.ts";

const purpose = "mcp-resource-cursor";
/** The family to go on with, and where in it; without that at its beginning. */
const sealedShape = z.lazy(() => z.union([z.tuple([z.string()]), z.tuple([z.string(), z.string()])]));

/** The page of a cursor, or `null` when the cursor is not one of the principal's, or what it names is gone. */
export async function resourcesPage(
  secretBox: SecretBox,
  families: readonly ResourceFamily[],
  principal: Principal,
  cursor: unknown,
  pageSize: number,
): Promise<Page<Resource> | null> {
  const { subject } = principal;
  const isFirst = cursor === undefined || cursor === "";
  const opened = isFirst || typeof cursor !== "string" ? null : await secretBox.open(purpose, cursor, subject);
  const [name, first] = opened === null ? [] : sealedShape.parse(JSON.parse(opened));
  const begin = isFirst ? 0 : families.findIndex((family) => family.name === name);
  if (begin < 0) return null;
  const seal = (...position: z.output<typeof sealedShape>): Promise<string> =>
    secretBox.seal(purpose, JSON.stringify(position), subject);

  const entries: Resource[] = [];
  let position = first;
  for (const family of families.slice(begin)) {
    if (entries.length >= pageSize) return { entries, nextCursor: await seal(family.name) };
    const page = await pageOf(family, principal, position, pageSize - entries.length);
    if (page === null) return null;
    entries.push(...page.resources);
    if (page.next !== undefined) return { entries, nextCursor: await seal(family.name, page.next) };
    position = undefined;
  }
  return { entries, nextCursor: undefined };
}

async function pageOf(
  family: ResourceFamily,
  principal: Principal,
  position: string | undefined,
  limit: number,
): Promise<ResourcePage | null> {
  if (family.listPage !== undefined) return await family.listPage(principal, position, limit);
  const all = await family.list(principal);
  const start = position === undefined ? 0 : all.findIndex(({ uri }) => uri === position) + 1;
  if (position !== undefined && start === 0) return null;
  const resources = all.slice(start, start + limit);
  const last = resources.at(-1);
  return last === undefined || start + limit >= all.length ? { resources } : { resources, next: last.uri };
}
