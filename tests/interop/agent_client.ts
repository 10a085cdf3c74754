/** An agent on the command line as a client of the story: its model is scripted to ask for each call. */
import { type ScriptedModel, startScriptedModel } from "../fixtures/scripted_model.ts";
import { installFromNpm, type NpmClient, type Screen } from "./npm_client.ts";
import type { MakeClient } from "./story.ts";

/** What differs between agents. */
export interface Agent {
  readonly packages: readonly string[];
  /** Points the agent at the server and the model. */
  configure(client: NpmClient, endpoint: string, model: ScriptedModel): Promise<void>;
  readonly environment: (model: ScriptedModel) => Readonly<Record<string, string>>;
  /** Command lines. */
  readonly signIn: string;
  readonly signOut: string;
  readonly ask: string;
  /** Where it signs in on a screen of its own. */
  readonly screen?: Screen;
}

/** Installs the agent and starts its model. */
export function agentClient(agent: Agent): (stack: AsyncDisposableStack) => Promise<MakeClient> {
  return async (stack) => {
    const model = stack.use(startScriptedModel());
    const client = stack.use(await installFromNpm(agent.packages, agent.environment(model)));
    return ({ endpoint, person }) => {
      let isConfigured = false;
      return {
        async connect() {
          if (isConfigured) await client.shell(agent.signOut);
          else await agent.configure(client, endpoint.href, model);
          isConfigured = true;
          await client.signIn(agent.signIn, person, agent.screen);
        },
        async tools() {
          model.play([]);
          await client.shell(agent.ask);
          return model.offered.map((name) => /(?:file|llm)_\w+$/.exec(name)?.[0] ?? name);
        },
        async call(tool, input, { signal } = {}) {
          model.play([{ tool, input }]);
          const asked = client.spawn(agent.ask);
          signal?.addEventListener("abort", () => asked.kill("SIGINT")); // as Ctrl-C
          const said = new TextDecoder().decode((await asked.output()).stdout);
          const [text] = model.results;
          if (text === undefined) throw new Error(`${said}\n${model.offered.join(" ")}`);
          return { isError: text.includes("Failed to"), text };
        },
        close: () => Promise.resolve(),
      };
    };
  };
}
