/** What a server that starts does without, for the person at the console. */
import type { Config } from "../config/config.ts";

/** A start does not wait longer for an Ollama that says nothing. */
const patienceMilliseconds = 500;

/** Begins to look, at once: the caller's network may be given up later. One sentence a part; none when all are there. */
export async function missingParts({ ollamaHosts, servicenow, servicenowMissing }: Config): Promise<readonly string[]> {
  const answering = ollamaHosts.map(isListening);
  const anyAnswers = await Promise.any(answering.map(async (each) => await each || Promise.reject(new Error("silent"))))
    .catch(() => false);
  const names = ollamaHosts.map(({ origin }) => origin).join(", ");
  const without = servicenowMissing.length === 0
    ? "ServiceNow: not configured"
    : `ServiceNow: ${servicenowMissing.join(" and ")} are missing`;
  return [
    ...anyAnswers ? [] : [`local models: Ollama does not answer at ${names}`],
    ...servicenow === undefined ? [without] : [],
  ];
}

async function isListening({ hostname, port }: Config["ollamaHosts"][number]): Promise<boolean> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), patienceMilliseconds);
  const connecting = Deno.connect({ hostname, port }).then((connection) => {
    connection.close();
    return true;
  }, () => false);
  return await Promise.race([connecting, late.promise]).finally(() => clearTimeout(timer)) ?? false;
}
