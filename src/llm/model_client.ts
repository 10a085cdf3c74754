/** The client for a host, by the API that it speaks. */
import { createOllamaClient } from "./client.ts";
import { createOpenAiClient } from "./openai_client.ts";
import type { ModelClient } from "./port.ts";
import type { ModelClientOptions } from "./transport.ts";

/** Made by `app` for the server and for `doctor`; it connects at its first call. */
export function createModelClient(options: ModelClientOptions): ModelClient {
  return options.host.isOllama ? createOllamaClient(options) : createOpenAiClient(options);
}
