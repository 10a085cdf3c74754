/** The port through which tools hand out links, by which bytes go past the model. */
import type { Principal } from "../../lib/principal.ts";
import type { ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome } from "../workspace/port.ts";

/** Below this path `app` routes requests to the endpoint of transfers. */
export const transferPath = "/files/";

/** An address for one transfer of one file: a secret, which is all that a request needs. */
export interface TransferLink {
  readonly url: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What `file_read` and `file_write` ask for a link: an address for one transfer of one file, without a token. */
export interface TransferLinks {
  /** For the file's content as it is now. */
  forDownload(
    principal: Principal,
    path: WorkspacePath,
  ): Promise<Outcome<TransferLink & { readonly sizeBytes: number }>>;
  /** For a new content of the file. */
  forUpload(principal: Principal, path: WorkspacePath, rule: ReceiveOptions): Promise<Outcome<TransferLink>>;
}
