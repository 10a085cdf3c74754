/**
 * The way of a person through the instance's sign-in and back: two steps, to be mounted by a page that links an
 * account and by the sign-in mode `servicenow`. What waits in between is stored here and tied to the browser that
 * started: a callback in any other browser is refused (CVE-2026-27124), so nobody can make somebody else finish a flow.
 */
import { z } from "zod";
import { hashSecret, matchesHash, randomSecret } from "../../lib/random_secret.ts";
import { parseStored } from "../../lib/storage_fault.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { SecretBox } from "../../lib/secret_box.ts";
import type { Storage, StorageKey } from "../../storage/port.ts";
import type { ServicenowFailure } from "../failure.ts";
import { instanceUrl, type ServicenowInstance } from "../instance.ts";
import type { InstanceAccount } from "./link_record.ts";
import type { ServicenowLinks } from "./links.ts";
import type { InstanceClient, TokenEndpoint } from "../token_endpoint.ts";

/** What a flow is for. `handle` names, to whoever started it, what goes on afterwards. */
type LinkPurpose =
  | { readonly kind: "link"; readonly subject: string }
  | { readonly kind: "sign_in"; readonly handle: string };

/** A flow that came to its end. The link is stored. */
interface FinishedLink {
  readonly purpose: LinkPurpose;
  /** Whom the account belongs to here. */
  readonly subject: string;
  readonly account: InstanceAccount;
}

/** Why a callback leads nowhere. */
type FinishRefusal =
  | { readonly reason: "malformed" }
  /** Never begun, too old, or already used. */
  | { readonly reason: "unknown_state" }
  | { readonly reason: "other_browser" }
  /** Another person is signed in here than the one who began. */
  | { readonly reason: "other_person" }
  /** The person said no at the instance, or may not use this application there. */
  | { readonly reason: "denied" }
  | { readonly reason: "code_refused" }
  | { readonly reason: "unavailable"; readonly failure: ServicenowFailure };

/** The two steps. `browser` is the value of a cookie that only this browser has. */
export interface LinkFlow {
  /** Where to send the browser. */
  begin(options: { readonly browser: string; readonly purpose: LinkPurpose }): Promise<{ readonly url: string }>;
  /** Takes the callback. `subject` is who is signed in here, if anybody. */
  finish(callback: {
    readonly parameters: URLSearchParams;
    readonly browsers: readonly string[];
    readonly subject: string | null;
    readonly signal: AbortSignal;
  }): Promise<Result<FinishedLink, FinishRefusal>>;
}

interface LinkFlowOptions {
  readonly instance: ServicenowInstance;
  readonly client: InstanceClient;
  /** Asked of the instance; none by default, which is `useraccount`. */
  readonly scope?: string;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly links: ServicenowLinks;
  readonly tokenEndpoint: TokenEndpoint;
  readonly whoAmI: (accessToken: string, signal: AbortSignal) => Promise<Result<InstanceAccount, ServicenowFailure>>;
  readonly clock: Clock;
}

/** How long a user may take to sign in at the instance. */
const linkStateLifetimeMs = 600_000;

const pendingSchema = z.object({ browserHash: z.string(), sealed: z.string() });
const waitingSchema = z.object({
  verifier: z.string(),
  purpose: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("link"), subject: z.string() }),
    z.object({ kind: z.literal("sign_in"), handle: z.string() }),
  ]),
});
const sealPurpose = "servicenow-link-state";

export function createLinkFlow(options: LinkFlowOptions): LinkFlow {
  const { instance, client, scope, storage, secrets, links, tokenEndpoint, whoAmI, clock } = options;
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
            sealed: secrets.seal(sealPurpose, JSON.stringify({ verifier, purpose }), hashSecret(state)),
          },
          expiresAt: clock() + linkStateLifetimeMs,
        }],
      });
      const url = instanceUrl(instance, "/oauth_auth.do", {
        response_type: "code",
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        state,
        ...(scope === undefined ? {} : { scope }),
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
      const opened = secrets.open(sealPurpose, sealed, hashSecret(state));
      if (opened === null) return failure({ reason: "unknown_state" }); // the key was changed in between
      const { verifier, purpose } = waitingSchema.parse(JSON.parse(opened));
      if (purpose.kind === "link" && purpose.subject !== subject) return failure({ reason: "other_person" });
      // RFC 9207 §2.4: an answer that names another issuer is not this instance's.
      const issuers = parameters.getAll("iss");
      if (issuers.some((each) => each !== instance.origin)) return failure({ reason: "malformed" });
      if (parameters.has("error")) return failure({ reason: "denied" }); // RFC 6749 §4.1.2.1
      const code = onlyValue(parameters, "code");
      if (code === null) return failure({ reason: "malformed" });
      const tokens = await tokenEndpoint.redeemCode(code, verifier);
      if (!tokens.ok) {
        return tokens.error.reason === "refused"
          ? failure({ reason: "code_refused" })
          : failure({ reason: "unavailable", failure: tokens.error });
      }
      const account = await whoAmI(tokens.value.accessToken, signal);
      if (!account.ok) return failure({ reason: "unavailable", failure: account.error });
      const owner = purpose.kind === "link" ? purpose.subject : subjectOfAccount(account.value);
      try {
        await links.save(owner, tokens.value, account.value);
      } catch (error) {
        await tokenEndpoint.revoke(tokens.value.accessToken); // nobody has it now
        throw error;
      }
      return success({ purpose, subject: owner, account: account.value });
    },
  };
}

/** Who somebody is here that signs in by their account of the instance. A sys_id is never given to another person. */
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
