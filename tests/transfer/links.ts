/** Links of a started server, and requests to them. */
import assert from "node:assert/strict";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { systemClock, systemTimers } from "../../src/lib/time.ts";
import type { Storage } from "../../src/storage/port.ts";
import { refusalWords } from "../../src/files/tools/refusal.ts";
import { createTransfers } from "../../src/files/transfer/transfers.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import type { FileServer } from "../fixtures/file_server.ts";

export async function downloadLink({ done }: FileServer, filename: string): Promise<string> {
  return urlOf(await done("file_read", { filename, link: true }));
}

export async function uploadLink(
  { done }: FileServer,
  filename: string,
  rule: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return urlOf(await done("file_write", { filename, link: true, ...rule }));
}

function urlOf({ structured, text }: { structured: Readonly<Record<string, unknown>>; text: string }): string {
  const url = String(structured["url"]);
  assert.ok(text.includes(url), "the text has the address, too");
  return url;
}

/** A request's status and text. */
export async function ask(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

export async function put(
  url: string,
  body: BodyInit,
  headers: HeadersInit = {},
): Promise<{ status: number; text: string }> {
  return await ask(url, { method: "PUT", body, headers });
}

/** A request's body that has more to come after these bytes, until `end` is called. */
export function unendedBody(bytes: Uint8Array): { body: ReadableStream<Uint8Array>; end: () => void } {
  const over = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(bytes);
      await over.promise;
      controller.close();
    },
  });
  return { body, end: over.resolve };
}

/** Transfers in this process, to which everyone has access. */
export function transfersOf(storage: Storage, workspace: Workspace): ReturnType<typeof createTransfers> {
  return createTransfers({
    serverUrl: "http://127.0.0.1",
    source: () => workspace,
    storage,
    secrets: createSecretBox(new Uint8Array(32)),
    access: { isLive: () => Promise.resolve(true), judge: () => Promise.resolve("allow"), changeCount: () => 0 },
    log: { write: () => {}, flush: () => {} },
    clock: systemClock,
    timers: systemTimers,
    refusalWords,
  });
}

/** What is on its way, or was left behind, beside the files of a disk workspace. */
export function stagedFiles(root: string): string[] {
  const namesIn = (directory: string): string[] =>
    Array.from(Deno.readDirSync(directory), ({ name, isDirectory }) => {
      if (/lock$|^trash$/.test(name)) return [];
      return isDirectory ? namesIn(`${directory}/${name}`) : [name];
    }).flat();
  return namesIn(`${root}/.portcullis`);
}
