/** Serves the host page and, from another origin, the frame between it and the view; what goes to `/mcp` goes on to a server. */
import { fileURLToPath } from "node:url";

const scriptPath = fileURLToPath(new URL("./host.js", import.meta.url));
const configPath = fileURLToPath(new URL("../../../deno.dev.json", import.meta.url));

export interface AppsHost extends AsyncDisposable {
  readonly url: string;
}

const page = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8"><title>Host</title>
<style>body { margin: 1rem; background: light-dark(#fff, #171717) } iframe { width: 100%; height: 3rem; border: 1px solid light-dark(#ddd, #444); border-radius: .6rem }</style>
<script src="/host.js"></script>
</html>`;

/** The policy that a host has to set for a view that names no domains (SEP-1865, host behavior). */
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

const between = `<!DOCTYPE html>
<html lang="en" style="height: 100%">
<meta charset="utf-8"><title>Between</title>
<body style="margin: 0; height: 100%">
<script>
const inner = document.createElement("iframe");
inner.style.cssText = "display: block; width: 100%; height: 100%; border: 0";
inner.title = "The view itself";
inner.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
document.body.append(inner);
addEventListener("message", ({ source, data }) => {
  if (source === inner.contentWindow) return parent.postMessage(data, "*");
  if (source !== parent) return;
  if (data?.method !== "ui/notifications/sandbox-resource-ready") return inner.contentWindow.postMessage(data, "*");
  const { contentDocument } = inner;
  contentDocument.open();
  contentDocument.write(data.params.html);
  contentDocument.close();
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script>
</html>`;

/** Bundles the host's script once, for all hosts of this process. */
let bundled: Promise<string> | undefined;

async function bundle(): Promise<string> {
  const args = ["bundle", "--quiet", "--config", configPath, "--platform", "browser", "--format", "iife", scriptPath];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

export async function startAppsHost(server: { readonly url: string }, token: string): Promise<AppsHost> {
  const script = await (bundled ??= bundle());
  const markup = (text: string, headers = {}) =>
    new Response(text, { headers: { "content-type": "text/html; charset=utf-8", ...headers } });
  const stop = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen: () => {} };
  const outer = Deno.serve(options, () => markup(between, { "content-security-policy": policy }));
  const host = Deno.serve(options, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/host.js") return new Response(script, { headers: { "content-type": "text/javascript" } });
    if (pathname !== "/mcp") return markup(page);
    const headers = new Headers(request.headers);
    for (const name of ["origin", "host", "referer"]) headers.delete(name);
    headers.set("authorization", `Bearer ${token}`);
    const { method, body, signal } = request;
    return await fetch(`${server.url}/mcp`, { method, headers, body, signal });
  });
  return {
    url: `http://127.0.0.1:${host.addr.port}/?sandbox=${encodeURIComponent(`http://localhost:${outer.addr.port}/`)}`,
    async [Symbol.asyncDispose]() {
      stop.abort(); // the client's own stream is open still
      await Promise.all([host.finished, outer.finished]);
    },
  };
}
