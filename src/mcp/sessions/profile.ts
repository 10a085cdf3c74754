/**
 * Whose habits the answers follow: the specification's, or those that ServiceNow's client and the guides written for it
 * need. Chosen per OAuth client.
 */
import { boundedMap } from "../../lib/bounded_map.ts";
import type { Principal } from "../../lib/principal.ts";

export interface Profile {
  readonly name: "spec" | "servicenow";
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

/** The setting of one client, or of the server: `auto` looks at the client. */
type ProfileSetting = "spec" | "servicenow" | "auto";

/** What is known of an OAuth client before it says anything. */
export interface RegisteredClient {
  readonly setting: ProfileSetting;
  readonly redirectHosts: readonly string[];
}

/** How profiles are chosen. */
export interface ProfileOptions {
  /** For clients whose own setting is `auto`, and for callers without a token. */
  readonly defaultSetting: ProfileSetting;
  /** Reads a client's registration; `null` when there is none. Asked once per client and process. */
  readonly findClient: (clientId: string) => RegisteredClient | null | Promise<RegisteredClient | null>;
  /** Names (`clientInfo.name`) and redirect hosts of ServiceNow. */
  readonly namePattern: RegExp;
  readonly hostPattern: RegExp;
  /** Opt-in: ServiceNow's clients get -32603 for a tool that fails. */
  readonly toolFailureIsProtocolError: boolean;
  /** How many clients' choices are remembered. */
  readonly maxRememberedClients: number;
}

interface Profiles {
  of(principal: Principal): Promise<Profile>;
  /** The profile of callers without a token. */
  readonly publicProfile: Profile;
  /** Takes note of what a client calls itself in its handshake, and says which profile that leaves it with. */
  noteName(principal: Principal, clientName: string | null): Profile;
}

export function createProfiles(options: ProfileOptions): Profiles {
  const { defaultSetting, maxRememberedClients } = options;
  const serviceNow: Profile = {
    ...serviceNowProfile,
    toolFailureIsProtocolError: options.toolFailureIsProtocolError,
  };
  const settled = boundedMap<string, { readonly profile: Profile; readonly fixed: boolean }>(maxRememberedClients);

  const remember = (clientId: string, profile: Profile, fixed: boolean): Profile => {
    settled.set(clientId, { profile, fixed });
    return profile;
  };
  const choose = (clientId: string, client: RegisteredClient | null): Profile => {
    const own = client?.setting ?? "auto";
    const setting = own === "auto" ? defaultSetting : own;
    if (setting !== "auto") return remember(clientId, setting === "servicenow" ? serviceNow : specProfile, true);
    const matches = client?.redirectHosts.some((host) => options.hostPattern.test(host)) ?? false;
    return remember(clientId, matches ? serviceNow : specProfile, matches);
  };

  return {
    publicProfile: defaultSetting === "spec" ? specProfile : serviceNow,
    async of(principal) {
      const { clientId } = principal;
      const known = settled.get(clientId);
      if (known !== undefined) return known.profile;
      return choose(clientId, await options.findClient(clientId));
    },
    noteName({ clientId }, clientName) {
      const known = settled.get(clientId) ?? { profile: specProfile, fixed: false };
      if (known.fixed || clientName === null || !options.namePattern.test(clientName)) return known.profile;
      return remember(clientId, serviceNow, false);
    },
  };
}
