/** The page on which a person uploads by a link, and what it says afterwards. It works without script and cookies. */
import { type Html, html, pageResponse } from "../../lib/page.ts";
import { dateAndTime } from "../../lib/page.ts";
import { showName } from "../workspace/file_display.ts";
import type { UploadRecord } from "./link_store.ts";

/** The page with the form. */
export function uploadPage({ path, expiresAt, mode }: UploadRecord, limitBytes: number): Response {
  const replaced = mode === "create" ? "" : " A file that is there already is replaced.";
  const body = html`
    <h1>Upload a file</h1>
    <p>The file you choose is saved as <strong>${showName(
      path,
    )}</strong> in the workspace of this server.${replaced}</p>
    ${form}
    <p class="hint">It may have up to ${limitBytes.toLocaleString(
      "en-GB",
    )} bytes. The link works once, until ${dateAndTime(expiresAt)}.</p>
  `;
  return pageResponse({ title: "Upload a file", body });
}

const form = html`
  <form method="post" enctype="multipart/form-data">
    <label class="field" for="file">File</label>
    <input type="file" id="file" name="file" required>
    <div class="actions"><button>Upload</button></div>
  </form>
`;

/** That the file has arrived. */
export function uploadedPage(status: number, { path }: UploadRecord, sizeBytes: number): Response {
  const body = html`
    <h1>The file has arrived</h1>
    <p>
      It is saved as <strong>${showName(path)}</strong> (${sizeBytes.toLocaleString("en-GB")} bytes). You can close this
      page.
    </p>
  `;
  return pageResponse({ title: "The file has arrived", status, body });
}

/** A refusal, with the form again where another try can succeed. */
export function refusedPage(status: number, words: string, again: boolean): Response {
  const title = again ? "The file was not saved" : "This link cannot be used";
  const body: Html = html`
    <h1>${title}</h1>
    <p class="note bad" role="alert">${words}</p>
    ${again && form}
  `;
  return pageResponse({ title, status, body });
}
