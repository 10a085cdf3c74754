/**
 * Whose habits the answers follow: the specification's, or those that ServiceNow's client and the guides written for it
 * need. Chosen by what the OAuth client registered, and for one grant or token by what its program calls itself.
 */
import { boundedMap } from "../lib/bounded_map.ts";
import type { Principal } from "../lib/principal.ts";

/** What answers do otherwise than the specification says, or where it leaves a choice. */
export interface Profile {
  readonly name: "spec" | "servicenow" | "chatgpt";
  /** The status of the empty answer to `notifications/initialized`. */
  readonly initializedStatus: 200 | 202;
  /** Whether the last page of a list has `nextCursor: ""`: the C# SDK would loop on it. */
  readonly endsListsWithEmptyCursor: boolean;
  /** Whether images carry `media_type` beside `mimeType`. */
  readonly addsMediaType: boolean;
  /** Whether tools are listed without their optional lists and objects. */
  readonly flatParameters: boolean;
  /** Whether the client is offered sessions, streams and change notices. */
  readonly streams: boolean;
  /** Whether a tool that fails is the JSON-RPC error -32603, as the guide has it, instead of a result with `isError`. */
  readonly toolFailureIsProtocolError: boolean;
  /** How long a call may take until its client would give up, with time to spare; null where nothing is known. */
  readonly answerWithinMs: number | null;
}

export const specProfile: Profile = {
  name: "spec",
  initializedStatus: 202,
  endsListsWithEmptyCursor: false,
  addsMediaType: false,
  flatParameters: false,
  streams: true,
  toolFailureIsProtocolError: false,
  answerWithinMs: null,
};

/** Of the 30 s after which ServiceNow's client gives up. */
const serviceNowAnswerWithinMs = 25_000;

export const serviceNowProfile: Profile = {
  name: "servicenow",
  initializedStatus: 200,
  endsListsWithEmptyCursor: true,
  addsMediaType: true,
  flatParameters: true,
  streams: false,
  toolFailureIsProtocolError: false,
  answerWithinMs: serviceNowAnswerWithinMs,
};

/** ChatGPT, whose deep research needs tools of its own. Other habits than the specification's are not known. */
const chatGptProfile: Profile = { ...specProfile, name: "chatgpt" };
const chatGptName = /^(?:openai-mcp|chatgpt)\b/i;
const chatGptHost = /(^|\.)chatgpt\.com$/i;

/** ServiceNow's clients, by the name that they call themselves (`clientInfo.name`) and by their redirect hosts. */
export const serviceNowName = /servicenow/i;
const serviceNowHost = /(^|\.)service-now\.com$/i;

const maxRememberedClients = 100_000;

export interface ProfileOptions {
  /** `auto` looks at the client, and takes a caller without a token for ServiceNow's. */
  readonly compatibility: "spec" | "servicenow" | "auto";
  /** Reads a client's registration or metadata document; `null` when there is none. Asked once per client and process. */
  readonly findClient: (clientId: string) => Promise<{ readonly redirectHosts: readonly string[] } | null>;
  /** ServiceNow's clients get -32603 for a tool that fails. */
  readonly toolFailureIsProtocolError: boolean;
  /** How many clients' choices are remembered. */
  readonly maxClients?: number;
}

/** Makes the profiles of an installation. What a program called itself is remembered in this process alone. */
export function createProfiles(
  { compatibility, findClient, toolFailureIsProtocolError, maxClients = maxRememberedClients }: ProfileOptions,
) {
  const serviceNow: Profile = { ...serviceNowProfile, toolFailureIsProtocolError };
  if (compatibility !== "auto") {
    const profile = compatibility === "servicenow" ? serviceNow : specProfile;
    return { of: () => profile, publicProfile: profile, noteName: () => profile };
  }
  const chosen = boundedMap<string, Profile>(maxClients);
  const find = async (clientId: string): Promise<Profile> => {
    const hosts = (await findClient(clientId))?.redirectHosts ?? [];
    const ofOther = hosts.some((host) => chatGptHost.test(host)) ? chatGptProfile : specProfile;
    const profile = hosts.some((host) => serviceNowHost.test(host)) ? serviceNow : ofOther;
    chosen.set(clientId, profile);
    return profile;
  };
  /** Grants, and tokens of the command line, whose program called itself ServiceNow's or ChatGPT's when it last began. */
  const named = boundedMap<string, Profile>(maxClients);
  return {
    /** The profile of callers without a token. */
    publicProfile: serviceNow,
    /**
     * `isApart`: the request is in a session, or of 2026-07-28, where each request says whose it is. What another
     * program with the same token calls itself is nothing to it.
     */
    of({ clientId, grantId }: Principal, isApart: boolean = false): Profile | Promise<Profile> {
      const own = named.get(grantId);
      // ChatGPT's adds tools and changes no answer: its sessions may have it, and others with the same token
      if (own !== undefined && (!isApart || own === chatGptProfile)) return own;
      return chosen.get(clientId) ?? find(clientId);
    },
    /**
     * Takes note of what a program calls itself in its handshake, and says which profile it gets. Other tokens of the
     * same OAuth client keep theirs (all tokens of the command line are of one), and so do sessions that were begun.
     * One that gets a session (`readsStreams`) changes nothing for programs with the same token that have none.
     */
    noteName({ clientId, grantId }: Principal, clientName: string | null, readsStreams: boolean = false): Profile {
      const name = clientName ?? "";
      const own = serviceNowName.test(name) ? serviceNow : chatGptName.test(name) ? chatGptProfile : null;
      if (own !== null) {
        if (own === serviceNow || !readsStreams || !named.has(grantId)) named.set(grantId, own);
        return own;
      }
      if (!readsStreams) named.delete(grantId); // programs without sessions cannot be told apart: the last one counts
      return chosen.get(clientId) ?? specProfile;
    },
  };
}
