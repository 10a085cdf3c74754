/** The agents that go through the story. */
import type { Agent } from "./agent_client.ts";

/** Claude Code, whose model is asked at ANTHROPIC_BASE_URL. */
export const claudeCode: Agent = {
  packages: ["@anthropic-ai/claude-code@2.1.330"],
  environment: ({ url }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "scripted",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ENABLE_TOOL_SEARCH: "false",
  }),
  async configure(client, endpoint) {
    await client.shell(`claude mcp remove portcullis; claude mcp add --transport http portcullis ${endpoint}`);
  },
  signIn: "claude mcp login portcullis --no-browser",
  signOut: "claude mcp logout portcullis",
  ask: "claude -p --allowedTools 'mcp__portcullis' -- 'Do it'",
};

/** Codex, whose model is asked by a provider of its configuration. */
export const codex: Agent = {
  packages: ["@openai/codex@0.169.0"],
  environment: () => ({}),
  async configure(client, endpoint, { url }) {
    await Deno.mkdir(`${client.home}/.codex`, { recursive: true });
    await Deno.writeTextFile(
      `${client.home}/.codex/config.toml`,
      `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
mcp_oauth_credentials_store = "file"

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"

[mcp_servers.portcullis]
url = "${endpoint}"
`,
    );
  },
  signIn: "codex mcp login portcullis",
  signOut: "codex mcp logout portcullis",
  ask: "codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox 'Do it' < /dev/null",
};

/** OpenCode, whose model is asked as Anthropic's. */
export const openCode: Agent = {
  packages: ["opencode-ai@1.18.33"],
  environment: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  async configure(client, endpoint, { url }) {
    await Deno.mkdir(`${client.home}/.config/opencode`, { recursive: true });
    const options = { baseURL: `${url}/v1`, apiKey: "scripted" };
    await Deno.writeTextFile(
      `${client.home}/.config/opencode/opencode.json`,
      JSON.stringify({
        model: "anthropic/claude-sonnet-4-5",
        small_model: "anthropic/claude-sonnet-4-5",
        provider: { anthropic: { options } },
        mcp: { portcullis: { type: "remote", url: endpoint, enabled: true, timeout: 60_000 } },
        permission: { "*": "allow" },
      }),
    );
  },
  signIn: "opencode mcp auth portcullis",
  signOut: "opencode mcp logout portcullis",
  ask: "opencode run 'Do it' < /dev/null",
};

/** Gemini CLI, which signs in on its screen: a command there, and "yes" to opening the browser. */
export const geminiCli: Agent = {
  packages: ["@google/gemini-cli@0.61.0"],
  environment: ({ url }) => ({
    GEMINI_API_KEY: "scripted",
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    GEMINI_FORCE_FILE_STORAGE: "true", // no keychain
    TERM: "xterm-256color",
  }),
  async configure(client, endpoint) {
    await Deno.mkdir(`${client.home}/.gemini`, { recursive: true });
    await Deno.writeTextFile(
      `${client.home}/.gemini/settings.json`,
      JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        mcpServers: { portcullis: { httpUrl: endpoint, trust: true } },
      }),
    );
  },
  signIn: "gemini --skip-trust -m gemini-2.5-flash -i '/mcp auth portcullis'",
  signOut: "rm -f .gemini/mcp-oauth-tokens.json",
  ask: "gemini --skip-trust --yolo -m gemini-2.5-flash -p 'Do it' < /dev/null",
  screen: { question: /Do you want to continue/, signedInFile: ".gemini/mcp-oauth-tokens.json" },
};
