/** Tells the story of one client of the table; a program of its own, since the libraries are in no lock file. */
import process from "node:process";
import { ClientNotInstalled } from "./client_not_installed.ts";
import { clients, skippedStatus } from "./clients.ts";

const client = clients.find(({ name }) => name === Deno.args[0]);
if (client === undefined) throw new Error(`no client ${Deno.args[0]}: ${clients.map(({ name }) => name).join(", ")}`);
try {
  await client.story();
} catch (error) {
  if (!(error instanceof ClientNotInstalled)) throw error;
  process.stdout.write(`${error.message}\n`);
  process.exit(skippedStatus);
}
process.exit(0);
