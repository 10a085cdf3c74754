/**
 * A "no" to a question that comes sooner is not a person's: agents without a screen say so by themselves, Codex as
 * "decline", Claude Code as "cancel".
 */
export const leastReadingMs = 1_000;
