/** Prints by how many megabytes this process has grown after hashing so many passphrases, one after the other. */
import process from "node:process";
import { hashPassword } from "../../src/oauth/password_hash.ts";

await hashPassword("the first one loads what is needed");
const before = Deno.memoryUsage().rss;
for (let count = 0; count < Number(Deno.args[0]); count++) await hashPassword(`passphrase ${count}`);
process.stdout.write(`${Math.round((Deno.memoryUsage().rss - before) / 1e6)}\n`);
