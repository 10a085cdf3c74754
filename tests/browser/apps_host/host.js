/**
 * A chat client that shows views, as the example host of MCP Apps does it: the extension's own bridge on a page, the view in
 * a frame within a frame of another origin. `host` is what tests drive.
 */
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const mimeType = "text/html;profile=mcp-app";
const info = { name: "Test host", version: "1" };
const sandbox = new URLSearchParams(location.search).get("sandbox");
const seen = { sent: [], links: [], messages: [], contexts: [], sizes: [], progress: [] };
let client, tools, bridge, theme = "light";

globalThis.host = {
  seen,
  async connect() {
    client = new Client(info, {
      capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [mimeType] } } },
    });
    await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
    tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  },
  setTheme(next) {
    theme = next;
    document.documentElement.style.colorScheme = next;
    bridge?.sendHostContextChange({ theme });
  },
  /** Calls a tool and shows its view at once; the result goes to the view, and is the promise's. */
  async call(name, input, { capabilities = {}, hasToolInfo = true } = {}) {
    await bridge?.teardownResource({}).catch(() => {});
    document.querySelector("iframe")?.remove();
    const tool = tools.get(name);
    const options = { onprogress: (each) => seen.progress.push(each.message) };
    const answered = client.callTool({ name, arguments: input }, options);
    const { contents: [{ text: html, mimeType: type, _meta }] } = await client.readResource({
      uri: getToolUiResourceUri(tool),
    });
    if (type !== mimeType) throw new Error(type);
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    frame.title = "View";
    const isReady = new Promise((resolve) =>
      addEventListener("message", ({ source, data }) => {
        if (source === frame.contentWindow && data?.method === "ui/notifications/sandbox-proxy-ready") resolve();
      })
    );
    frame.src = sandbox;
    document.body.append(frame);
    addEventListener("message", ({ source, data }) => source === frame.contentWindow && seen.sent.push(data));
    await isReady;
    const { tools: serverTools, resources: serverResources } = client.getServerCapabilities();
    const all = {
      openLinks: {},
      serverTools,
      serverResources,
      updateModelContext: { text: {} },
      message: { text: {} },
      ...capabilities,
    };
    const able = Object.fromEntries(Object.entries(all).filter(([, each]) => each !== null));
    bridge = new AppBridge(client, info, able, {
      hostContext: { theme, locale: "en-GB", timeZone: "UTC", ...hasToolInfo ? { toolInfo: { tool } } : {} },
    });
    bridge.onopenlink = ({ url }) => (seen.links.push(url), Promise.resolve({}));
    bridge.onmessage = (message) => (seen.messages.push(message), Promise.resolve({}));
    bridge.onupdatemodelcontext = (context) => (seen.contexts.push(context), Promise.resolve({}));
    bridge.onsizechange = ({ height }) => {
      seen.sizes.push(height);
      frame.style.height = `${height}px`;
    };
    const isInitialized = new Promise((resolve) => bridge.oninitialized = resolve);
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    await bridge.sendSandboxResourceReady({ html, csp: _meta?.ui?.csp });
    await isInitialized;
    await bridge.sendToolInput({ arguments: input });
    const result = await answered;
    await bridge.sendToolResult(result);
    return result;
  },
  /** Gives the view a result that no tool gave. */
  result: (result) => bridge.sendToolResult(result),
};
