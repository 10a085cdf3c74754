/** The permission wall in words, for `doctor`. */
import { isPresencePath } from "../../storage/data_files.ts";
import type { ServerPermissions } from "./permissions.ts";
import type { RaceFreedom } from "./race_freedom.ts";

interface Wall {
  readonly permissions: ServerPermissions;
  /** The first of `permissions.net`: where the server listens. */
  readonly listenAddresses: readonly string[];
  /** The data directory, in each spelling: given up once the storage is open. */
  readonly storagePaths: readonly string[];
  readonly raceFreedom: RaceFreedom;
  readonly clientMetadataDocuments: boolean;
  readonly workers: number;
}

/** What the server holds while it answers, then what the wall does not cover: a sentence each. */
export function describeWall(
  { permissions, listenAddresses, storagePaths, raceFreedom, clientMetadataDocuments, workers }: Wall,
): string[] {
  const upstreams = permissions.net.slice(listenAddresses.length);
  const { kept = [], presence = [] } = Object.groupBy(
    permissions.read.filter((path) => !storagePaths.includes(path)),
    (path) => isPresencePath(path) ? "presence" : "kept",
  );
  const sentences = [
    `tools reach ${
      [upstreams.join(", "), ...kept.length === 0 ? [] : [`the files in ${kept.join(", ")}`]].join(" and ")
    }, and nothing else`,
    `the server also holds ${listenAddresses.join(", ")} to listen on and, until it answers, ${
      storagePaths.join(", ")
    }${presence.length === 0 ? "" : "; afterwards it may only see whether its database's files are there"}`,
    permissions.ffi.length === 0
      ? "no environment, subprocess, foreign function, system information, code from elsewhere, or making of links"
      : "no environment, subprocess, system information, code from elsewhere, or making of links; of foreign functions " +
        "the C library's calls on files below the workspace's directory, bound before any other code runs",
  ];
  if (clientMetadataDocuments) {
    sentences.push(
      "the main thread keeps the network to fetch clients' documents, from public addresses only; a broken tool could " +
        "ask for one and put data in its address: CLIENT_METADATA_DOCUMENTS=off closes that",
    );
  }
  if (workers > 1) {
    sentences.push(
      `the main thread keeps files${permissions.ffi.length === 0 ? "" : ", the C library"} and network, to give a ` +
        "worker that it starts again its share; it runs no tool and answers no request",
    );
  } else if (permissions.ffi.length > 0) {
    sentences.push(
      "where there are two cores the main thread keeps the C library, for a thread that reads files in a large search; it " +
        "runs no tool and answers no request",
    );
  }
  sentences.push(
    raceWords(raceFreedom),
    "not covered: links that others made in the workspace, for a tool that goes round the workspace's own checks; the " +
      "memory and time that a tool uses; what an upstream does with what it is sent",
  );
  return sentences;
}

function raceWords(freedom: RaceFreedom): string {
  if (!freedom.raceFree) {
    return `paths are checked, not confined by the kernel, because ${freedom.reason}: another process that may write the ` +
      "workspace and swaps directories for links at the right moment can have files outside read, replaced, moved and " +
      "deleted; Linux 5.6 or later with openat2 and the permission for the C library (`deno task start`), `deno task " +
      "start:hardened`, or a file system of its own, covers it";
  }
  return freedom.because === "kernel"
    ? "the kernel resolves each name below the workspace's directory (openat2), without links that " +
      "leave and without other mounts: no other process can make a file tool reach files outside"
    : "the workspace is a file system of its own: no contents outside it are read, changed or " +
      "deleted; listings can show names, sizes and times from outside while another process swaps directories for " +
      "links, and it can have a directory made or a name changed there";
}
