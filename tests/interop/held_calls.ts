/** An agent whose calls a rule holds: a person decides on the page, and the agent's model gets what came of it. */
import assert from "node:assert/strict";
import { type Desk, fileIn, isThere, startDesk } from "../console/desk.ts";
import { type ScriptedCall, startScriptedModel } from "../fixtures/scripted_model.ts";
import type { Agent } from "./agent_client.ts";
import { installFromNpm } from "./npm_client.ts";

const env = { CLIENT_METADATA_DOCUMENTS: "off" };
const runSeconds = 300;

/** Signs the agent in, and has its model ask for changes that wait; throws at what does not happen. */
export async function checkHeldCalls(agent: Agent): Promise<void> {
  await using model = startScriptedModel();
  await using client = await installFromNpm(agent.packages, agent.environment(model));
  const write = (filename: string): ScriptedCall => ({ tool: "file_write", input: { filename, content: filename } });
  const ask = async (...calls: readonly ScriptedCall[]): Promise<string> => {
    model.play(calls);
    const said = await client.shell(agent.ask, runSeconds);
    assert.equal(model.results.length, calls.length, said);
    return model.results.join("\n");
  };
  const signIn = async ({ server, owner }: Desk): Promise<void> => {
    await agent.configure(client, `${server.url}/mcp`, model);
    await client.signIn(agent.signIn, owner, agent.screen);
  };
  {
    await using desk = await startDesk({ env });
    await signIn(desk);
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const approved = ask(write("approved.txt"));
    await desk.decide("approve");
    assert.match(await approved, /approved\.txt/);
    assert.doesNotMatch(await approved, /Failed|approval/);
    assert.equal(await fileIn(desk, "approved.txt"), "approved.txt");

    const denied = ask(write("denied.txt"), { tool: "file_list", input: {} });
    await desk.decide("deny", { word: "Use the other folder" });
    const [refusal = "", listed = ""] = (await denied).split("\n");
    assert.match(refusal, /Use the other folder/);
    assert.match(listed, /approved\.txt/, "what no rule holds goes on");
    assert.equal(await isThere(desk, "denied.txt"), false);

    await Deno.mkdir(`${desk.place.workspaceDir}/large`);
    for (let n = 0; n < 101; n++) await Deno.writeTextFile(`${desk.place.workspaceDir}/large/${n}`, "");
    const deleted = await ask({ tool: "file_delete", input: { path: "large", recursive: true } });
    // in words, or as data, by what the client hands to its model
    assert.match(deleted, /can be undone with file_undo|undo_until/, "an agent without a person to ask gets on");
    await client.shell(agent.signOut);
  }
  {
    await using desk = await startDesk({ env, patienceMs: 100 }); // shorter than any client waits
    await signIn(desk);
    await desk.rule({ tool: "file_write", verdict: "ask" });
    const first = await ask(write("later.txt"));
    assert.match(
      first,
      /Nothing was done yet: this call waits for a person's approval at http:[^ ]*\/console\/decisions/,
    );
    assert.match(first, /call again with these same arguments/);
    assert.equal(await isThere(desk, "later.txt"), false);
    await desk.decide("approve");
    assert.doesNotMatch(await ask(write("later.txt")), /approval/);
    assert.equal(await fileIn(desk, "later.txt"), "later.txt");
  }
}
