/** `tools/list`, kept as text per revision and page until the registry changes. */
import type { SecretBox } from "../lib/secret_box.ts";
import type { McpAnswer } from "./answer.ts";
import { answerError, answerResult, type Call } from "./call.ts";
import { openCursor, sealCursor } from "./cursor.ts";
import type { Profile } from "./exchange.ts";
import { errorCode } from "./jsonrpc.ts";
import type { Revision } from "./revisions/revision.ts";
import type { ToolRegistry } from "./tool_registry.ts";

/** What the list needs from its server. */
export interface ToolsListOptions {
  readonly tools: ToolRegistry;
  readonly secretBox: SecretBox;
  /** How many tools a page holds at most. */
  readonly pageSize: number;
}

/** Makes the handler of `tools/list`. */
export function createToolsList(options: ToolsListOptions): (call: Call) => McpAnswer {
  const { tools, secretBox, pageSize } = options;
  let cachedVersion = -1;
  const cached: Record<Profile, Map<Revision, Map<number, string>>> = { spec: new Map(), servicenow: new Map() };

  const renderPage = (revision: Revision, profile: Profile, start: number): string => {
    const page = tools.all().slice(start, start + pageSize);
    const last = page.at(-1);
    const hasMore = last !== undefined && start + pageSize < tools.all().length;
    const nextCursor = hasMore
      ? { nextCursor: sealCursor(secretBox, "tools", last.tool.name) }
      : profile === "servicenow"
      ? { nextCursor: "" } // the pocket specification's clients want a string; the C# SDK would loop on it
      : {};
    return JSON.stringify({ tools: page.map(revision.encodeTool), ...nextCursor });
  };

  const pageAt = (revision: Revision, profile: Profile, start: number): string => {
    if (cachedVersion !== tools.version) {
      cached.spec.clear();
      cached.servicenow.clear();
      cachedVersion = tools.version;
    }
    let pages = cached[profile].get(revision);
    if (pages === undefined) cached[profile].set(revision, pages = new Map());
    let text = pages.get(start);
    if (text === undefined) pages.set(start, text = renderPage(revision, profile, start));
    return text;
  };

  /** Where the page begins, or `null` for a cursor that is not ours or whose tool is gone. An empty one means page one. */
  const startOf = (cursor: unknown): number | null => {
    if (cursor === undefined || cursor === "") return 0;
    const after = typeof cursor === "string" ? openCursor(secretBox, "tools", cursor) : null;
    const index = after === null ? -1 : tools.all().findIndex(({ tool }) => tool.name === after);
    return index < 0 ? null : index + 1;
  };

  return (call) => {
    const params = call.request.params as { readonly cursor?: unknown } | null | undefined;
    const start = startOf(params?.cursor);
    if (start === null) return answerError(call, errorCode.invalidParams, "Invalid cursor");
    return answerResult(call, pageAt(call.revision, call.exchange.profile, start));
  };
}
