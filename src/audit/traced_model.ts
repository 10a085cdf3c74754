/** A span around each call of a model, by OpenTelemetry's conventions for generative AI; never a prompt or an answer. */
import { present } from "../lib/json.ts";
import { errorType, type SpanAttributes, type SpanStart, type Tracer } from "../lib/tracer.ts";
import type { ModelClient, ModelCompletion, ModelDelta, ModelFailed } from "../llm/mod.ts";

type Request = Parameters<ModelClient["ask"]>[0];
type Event = ModelDelta | ModelCompletion | ModelFailed;

/** The same client. A call's span lasts until its answer is whole, and the requests that it sends are below it. */
export function traceModel(client: ModelClient, tracer: Tracer): ModelClient {
  const { hostname, port, isOllama } = client.host;
  const start = (request: Request): SpanStart => ({
    name: `${operationOf(request)} ${request.model}`,
    kind: "client",
    attributes: {
      "gen_ai.operation.name": operationOf(request),
      "gen_ai.provider.name": isOllama ? "ollama" : "openai",
      "gen_ai.request.model": request.model,
      "server.address": hostname,
      "server.port": port,
      "gen_ai.request.max_tokens": request.options.maxTokens,
    },
  });
  return {
    ...client,
    ask: (request, call) => traceEvents(tracer, start(request), () => client.ask(request, call)),
  };
}

/** A single question is completed; what continues a conversation is a chat. */
function operationOf({ messages }: Request): string {
  return messages.filter(({ role }) => role !== "system").length > 1 ? "chat" : "text_completion";
}

async function* traceEvents<T extends Event>(
  tracer: Tracer,
  start: SpanStart,
  call: () => AsyncGenerator<T, void>,
): AsyncGenerator<T, void> {
  const span = tracer.begin(start);
  if (span === null) return yield* call();
  const events = call();
  let isOver = false;
  try {
    while (true) {
      const { done, value } = await span.run(() => events.next());
      if (done) break;
      if (value.type === "failed") span.fail(value.failure.code);
      isOver = value.type !== "delta";
      if (isOver) span.set(usageOf(value));
      yield value;
    }
  } catch (error) {
    isOver = true;
    span.fail(errorType(error));
    throw error;
  } finally {
    if (!isOver) span.fail("cancelled"); // the listener has left
    await events.return();
    span.end();
  }
}

function usageOf(event: Event): SpanAttributes {
  if (event.type !== "done") return {};
  const { promptTokens, completionTokens } = event;
  return present({ "gen_ai.usage.input_tokens": promptTokens, "gen_ai.usage.output_tokens": completionTokens });
}
