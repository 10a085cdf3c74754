/**
 * The thread that reads documents: a Node thread, since its heap can be limited, in a worker that may read nothing but the
 * modules of this directory. It loads them, gives up that right too, and only then asks for a document.
 */
import { parentPort } from "node:worker_threads";
import { DocumentBudget, DocumentRefusal, type DocumentText, maxDocumentCharacters, tooLarge } from "./document.ts";
import { scalePicture } from "./pictures.ts";
import { readDocument } from "./readers.ts";

/** Of one document; buffers are outside of what limits a thread. */
const maxUnpackedBytes = 128 * 1024 * 1024;

/** Of one buffer. What unpacks into a buffer that grows, as pdf.js does, is refused before this one is made. */
const maxBufferBytes = 64 * 1024 * 1024;

Deno.permissions.revokeSync({ name: "read" });

globalThis.Uint8Array = new Proxy(Uint8Array, {
  construct(target, given: [unknown], made) {
    if (typeof given[0] === "number" && given[0] > maxBufferBytes) throw new DocumentRefusal(tooLarge);
    return Reflect.construct(target, given, made);
  },
});
// Unpacks without a bound where there is one; pdf.js and ours have their own ways.
Reflect.deleteProperty(globalThis, "DecompressionStream");
// Libraries print warnings, and the output of `portcullis stdio` is the protocol's.
for (const name of ["log", "info", "debug", "warn", "error"]) Reflect.set(globalThis.console, name, () => {});

// pdf.js drops promises that fail in damaged files, by which the thread would end while it reads another's document.
addEventListener("unhandledrejection", (event) => event.preventDefault());

interface Task {
  readonly bytes: ArrayBuffer;
  readonly name: string;
  readonly firstPage: number;
  /** To be scaled. */
  readonly isPicture: boolean;
}

parentPort?.on("message", async ({ bytes, name, firstPage, isPicture }: Task) => {
  try {
    const file = new Uint8Array(bytes);
    parentPort?.postMessage({ document: isPicture ? scalePicture(file) : await readText(file, name, firstPage) });
  } catch (error) {
    parentPort?.postMessage({ refused: error instanceof DocumentRefusal ? error.message : "it is damaged" });
  }
});

async function readText(bytes: Uint8Array, name: string, firstPage: number): Promise<DocumentText> {
  const document = await readDocument(bytes, name, new DocumentBudget(maxUnpackedBytes), firstPage);
  let left = maxDocumentCharacters;
  const parts = document.parts.map(({ name, text }) => {
    const kept = text.slice(0, left).toWellFormed();
    left -= kept.length;
    return { name, text: kept };
  });
  const cut = left > 0 ? [] : [`only its first ${maxDocumentCharacters} characters are given`];
  const isCut = document.isCut === true || left <= 0;
  return { ...document, remarks: [...document.remarks, ...cut], isCut, parts };
}
parentPort?.postMessage("ready");
