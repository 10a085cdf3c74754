/** From a typed line to the first signed-in call, within 150 words: on this machine, and in public. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { serverFlags } from "../fixtures/forms/server_process.ts";
import { freePort } from "../fixtures/free_port.ts";
import { runCommand } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { atTerminal } from "../fixtures/terminal.ts";
import { asking } from "../public_domain/asking.ts";
import { startPebble, withPebbleHere } from "../public_domain/pebble.ts";
import { missingBrowser } from "./chromium.ts";
import { tryFirstCall } from "./first_call.ts";

const fromSource = {
  command: Deno.execPath(),
  args: ["run", ...serverFlags, fileURLToPath(new URL("../../main.ts", import.meta.url)), "serve"],
};
/** The modules are there already, in whichever home. */
const environment = {
  PATH: Deno.env.get("PATH") ?? "",
  DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
};

const here = missingBrowser === null ? atTerminal : (name: string) => skippedUnless(false, missingBrowser ?? "", name);

Deno.test({
  ...here("from a typed line to a signed-in call there are at most 150 words to read, and no log"),
  fn: async () => {
    const terminal = await tryFirstCall("source", { ...fromSource, env: { ...environment, PORT: String(freePort()) } });
    assert.match(
      terminal,
      /^\s*Portcullis [^]*Open this link within 10 minutes:\n {2}http[^]*connection…\n[^]*is connected\.\s*$/,
    );
    assert.doesNotMatch(terminal, /INFO|AUDIT|\{"time"/);
  },
});

const name = "mcp.portcullis.test";

Deno.test({
  ...(here("").ignore ? here : withPebbleHere)(
    "in public, with a certificate that is issued on the way, there is no word more",
  ),
  fn: async () => {
    const [port, httpPort] = [freePort(), freePort()];
    const pebble = await startPebble({ httpPort });
    const env = {
      ...{ PUBLIC_DOMAIN: name, HOST: "127.0.0.1", PORT: String(port), HTTP_PORT: String(httpPort) },
      ...{ ACME_DIRECTORY: pebble.url, DENO_CERT: pebble.authorityFile },
      ...{ DATA_DIR: `${pebble.directory}/data`, WORKSPACE_DIR: `${pebble.directory}/workspace` },
    };
    try {
      const fetching = async () => {
        const ask = asking(name, await pebble.root(), port);
        return (input: string, init: RequestInit) => ask(new URL(input), init);
      };
      const scope = "files:read files:write llm:generate";
      const register = async (redirectUri: string): Promise<string> => {
        const named = ["--name", "Claude Code", "--scope", scope, "--auth-method", "none", "--redirect", redirectUri];
        const { stdout, stderr } = await runCommand(["clients", "create", ...named], { env });
        return /^client_id=(\S+)$/m.exec(stdout)?.[1] ?? assert.fail(stderr);
      };
      const chromium = [`--host-resolver-rules=MAP ${name} 127.0.0.1:${port}`];
      const call = { ...fromSource, env: { ...environment, ...env }, fetching, register, chromium };
      assert.match(await tryFirstCall("public", call), /https:\/\/mcp\.portcullis\.test\/setup\?code=/);
    } finally {
      await pebble.close();
    }
  },
});
