/** The ServiceNow tools that an installation offers. */
import type { WorkspaceSource } from "../files/mod.ts";
import type { ResourceFamily, Tool, ToolContext } from "../mcp/mod.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import { writeTools } from "./write_tools.ts";
import { servicenowAttachTool, servicenowFetchAttachmentTool, workspaceFiles } from "./attach_tool.ts";
import type { AttachmentFiles } from "./attach_tool.ts";
import { servicenowPrompts, servicenowResources } from "./resources.ts";
import { readTools } from "./read_tools.ts";

/** Everything that callers are offered of an instance; `gateResources` puts the rules about calls in front of them. */
export function servicenowOffer(
  servicenow: ServicenowRecords,
  { workspace, writing, gateResources }: {
    readonly workspace: WorkspaceSource;
    readonly writing: boolean;
    readonly gateResources: (family: ResourceFamily) => ResourceFamily;
  },
) {
  const resources = gateResources(servicenowResources(servicenow));
  const tools = servicenowTools(servicenow, { files: workspaceFiles(workspace), writing });
  return { tools, resources, prompts: servicenowPrompts(resources.read) };
}

/** Tools that read, and with `writing` also tools that write. */
export function servicenowTools(
  servicenow: ServicenowRecords,
  { files, writing }: { readonly files: AttachmentFiles; readonly writing: boolean },
): readonly Tool[] {
  const tools = [
    ...readTools(servicenow),
    servicenowFetchAttachmentTool(servicenow, files),
    ...(writing ? [...writeTools(servicenow), servicenowAttachTool(servicenow, files)] : []),
  ];
  return tools.map((tool) => askToLink(tool, servicenow.linking));
}

/**
 * A person who has linked no account is asked to, before the tool does anything, where the client can open a page for
 * them. The call goes on once they have; other clients get the tool's refusal, which names the page.
 */
function askToLink(tool: Tool, linking: ServicenowRecords["linking"]): Tool {
  return {
    ...tool,
    async run(input, context) {
      const mayAsk = context.supports("url_elicitation");
      if (mayAsk && !await linking.isLinked(context.principal.subject)) await waitForLink(linking, context);
      return await tool.run(input, context);
    },
  };
}

async function waitForLink(linking: ServicenowRecords["linking"], context: ToolContext): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, context.answerNow, stop.signal]);
  const message = "Link your ServiceNow account: the agent acts there as you, with your rights only.";
  const page = { method: "elicitation/create", params: { mode: "url", message, url: linking.url } } as const;
  await context.handOut();
  context.progress({ progress: 0, message: `Waiting for a ServiceNow account at ${linking.url}` });
  const linked = linking.whenLinked(context.principal.subject, signal);
  // To accept is to open the page: the link itself is what the call waits for.
  const asked = context.ask({ link: page }).then((answers) => {
    if (answers.ok && answers.value.link.action !== "accept") stop.abort();
    return linked;
  });
  await Promise.race([linked, asked]).finally(() => stop.abort());
}
