/**
 * Clients that give their model a result's structured content *instead of* its text. They get text alone: it is written
 * for a model, and images would be lost with it.
 */

/** The names by which they go, at the handshake and in their registrations. */
const names: readonly RegExp[] = [
  // Measured with 2.1.330 by `deno task interop "Claude Code, answers"`; anthropics/claude-code#55677 and #79944.
  /^claude[- ]code\b/i,
  // Measured with 0.169.0 by `deno task interop "Codex, answers"`; openai/codex#38287. Also loses images.
  /^codex\b/i,
  // Versions of June 2026 prefer structured content, images lost (anomalyco/opencode#32074, #32868); 1.18.33 reads text.
  /^opencode\b/i,
  // microsoft/vscode, mcpLanguageModelToolContribution.ts: takes it "in place of any textual description".
  /^visual[- ]studio[- ]code\b/i,
  /^code - oss\b/i,
  // Copilot's command line: structured content alone in github/copilot-cli#3258, later both (#4515).
  /^github[- ]copilot\b/i,
];

/** Whether a client of this name reads text only where there is no structured content. */
export function readsTextAlone(clientName: unknown): boolean {
  return typeof clientName === "string" && names.some((name) => name.test(clientName));
}
