/**
 * A user's visit to the instance's sign-in, and the way back. Its state is stored and tied to the browser that started:
 * a callback in any other browser is refused (CVE-2026-27124), so that no attacker can make a victim finish a visit.
 */
import * as z from "zod";
import { hashSecret, matchesHash, randomSecret, type SecretBox } from "../lib/secrets.ts";
import { parseStored } from "../lib/system_fault.ts";
import { type Clock, pause } from "../lib/time.ts";
import { failure, success } from "../lib/result.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import type { InstanceSignIn, VisitRefusal } from "../oauth/mod.ts";
import type { Answer, ServicenowFailure } from "./failure.ts";
import { instanceUrl, type ServicenowInstance } from "./transport.ts";
import { type InstanceAccount, linkKey } from "./link_store.ts";
import type { InstanceClient, ServicenowLinks, TokenEndpoint } from "./links.ts";
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/stored_entries.ts";

interface LinkFlowOptions {
  readonly instance: ServicenowInstance;
  readonly client: InstanceClient;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly links: ServicenowLinks;
  readonly tokenEndpoint: TokenEndpoint;
  readonly whoAmI: (accessToken: string, signal: AbortSignal) => Answer<InstanceAccount>;
  readonly clock: Clock;
}

/** How long a user may take to sign in at the instance. */
const linkStateLifetimeMs = 600_000;

const pendingSchema = z.object({ browserHash: z.string(), sealed: z.string() });
const waitingSchema = z.object({
  verifier: z.string(),
  purpose: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("link"), subject: z.string(), next: z.string().optional() }),
    z.object({ kind: z.literal("sign_in"), handle: z.string() }),
  ]),
});
const sealPurpose = "servicenow-link-state";

export function createLinkFlow(options: LinkFlowOptions): Pick<InstanceSignIn, "begin" | "finish"> {
  const { instance, client, storage, secrets, links, tokenEndpoint, whoAmI, clock } = options;
  return {
    async begin({ browser, purpose }) {
      const state = randomSecret();
      const verifier = randomSecret(); // RFC 7636 §4.1
      const key = pendingKey(state);
      await storage.commit({
        puts: [{
          key,
          value: {
            browserHash: hashSecret(browser),
            sealed: await secrets.seal(sealPurpose, JSON.stringify({ verifier, purpose }), hashSecret(state)),
          },
          expiresAt: clock() + linkStateLifetimeMs,
        }],
      });
      const url = instanceUrl(instance, "/oauth_auth.do", {
        response_type: "code",
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        state,
        code_challenge: hashSecret(verifier), // RFC 7636 §4.2, S256
        code_challenge_method: "S256",
      });
      return { url };
    },
    async finish({ parameters, browsers, subject, signal }) {
      const state = onlyValue(parameters, "state");
      if (state === null || !/^[A-Za-z0-9_-]{43}$/.test(state)) return failure({ reason: "malformed" });
      const entry = await storage.consume(pendingKey(state)); // once, whatever comes of it
      if (entry === null) return failure({ reason: "unknown_state" });
      const { browserHash, sealed } = parseStored(pendingSchema, entry.value, "servicenow_link_state");
      if (!browsers.some((browser) => matchesHash(browser, browserHash))) {
        return failure({ reason: "other_browser" });
      }
      const opened = await secrets.open(sealPurpose, sealed, hashSecret(state));
      if (opened === null) return failure({ reason: "unknown_state" }); // the key was changed in between
      const { verifier, purpose } = waitingSchema.parse(JSON.parse(opened));
      const next = purpose.kind === "link" && purpose.next !== undefined ? { next: purpose.next } : {};
      const refuse = (reason: VisitRefusal) => failure({ reason, ...next });
      if (purpose.kind === "link" && purpose.subject !== subject) return refuse("other_person");
      // RFC 9207 §2.4: an answer that names another issuer is not this instance's.
      const issuers = parameters.getAll("iss");
      if (issuers.some((each) => each !== instance.origin)) return refuse("malformed");
      if (parameters.has("error")) return refuse("denied"); // RFC 6749 §4.1.2.1
      const code = onlyValue(parameters, "code");
      if (code === null) return refuse("malformed");
      const tokens = await tokenEndpoint.redeemCode(code, verifier);
      if (!tokens.ok) return refuse(tokens.error.reason === "refused" ? "code_refused" : "unavailable");
      const account = await whoAmI(tokens.value.accessToken, signal);
      if (!account.ok) return refuse(refusalOf(account.error));
      const owner = purpose.kind === "link" ? purpose.subject : subjectOfAccount(account.value);
      try {
        await links.save(owner, tokens.value, account.value);
      } catch (error) {
        await tokenEndpoint.revoke(tokens.value); // no record of it is left
        throw error;
      }
      return success({ purpose, subject: owner, account: account.value });
    },
  };
}

/** Why the account behind a fresh token is not known: ended already, without rights to the API, or no answer. */
function refusalOf({ reason }: ServicenowFailure): VisitRefusal {
  if (reason === "link_expired") return "code_refused";
  return reason === "forbidden" || reason === "not_found" ? "denied" : "unavailable";
}

/** The user that an account of the instance signs in as. An instance never reuses a sys_id. */
function subjectOfAccount({ sysId }: InstanceAccount): string {
  return `servicenow:${sysId}`;
}

function pendingKey(state: string): StorageKey {
  return ["servicenow_link_state", hashSecret(state)];
}

/** RFC 6749 §3.1: a parameter that is repeated has no value. */
function onlyValue(parameters: URLSearchParams, name: string): string | null {
  const [value, ...more] = parameters.getAll(name);
  return value === undefined || value === "" || more.length > 0 ? null : value;
}

/** Less than the 60 seconds after which most clients give up. */
const linkPatienceMs = 45_000;

/** A call that waits until its person has linked an account, on whatever instance of the server they do that. */
export function createLinking(
  { links, storage, log, linkUrl: url, linkMs = linkPatienceMs }: {
    readonly links: ServicenowLinks;
    readonly storage: Storage;
    readonly log: Log;
    readonly linkUrl: string;
    readonly linkMs?: number;
  },
) {
  const isLinked = async (subject: string): Promise<boolean> => (await links.status(subject)).state === "linked";
  return {
    /** The page where a person does it. */
    url,
    isLinked,
    /** Resolves when the person has linked an account, when `signal` aborts, or when waiting has taken too long. */
    async whenLinked(subject: string, signal: AbortSignal): Promise<void> {
      const done = new AbortController();
      const watch = watchEntries(storage, [linkKey(subject)], async () => {
        if (await isLinked(subject)) done.abort();
      }, { log });
      watch.look();
      await pause(linkMs, AbortSignal.any([signal, done.signal]));
      watch.stop();
    },
  };
}
