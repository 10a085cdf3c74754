/** What other parts use of llm once they are loaded later themselves. */
export { createOllamaClient } from "./client.ts";
