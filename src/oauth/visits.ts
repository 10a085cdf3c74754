/** For pages of other parts: who sent a request, forms that no other site can make, and the passphrase once more. */
import type { Peer } from "../lib/endpoint.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { errorPage } from "./error_page.ts";
import type { PasswordHasher } from "./password_hash.ts";
import { type PasswordThrottle, verifyPassphrase } from "./verify_passphrase.ts";
import { type ConsolePage, type InteractionOptions, showSignIn } from "./interaction.ts";
import { csrfToken, foreignForm, isCsrfToken, readBrowserForm } from "./browser_sessions.ts";

/** A signed-in person, on a page. */
export interface Visitor {
  readonly userId: string;
  /** The name to show. */
  readonly name: string;
  readonly isAdministrator: boolean;
  /** Milliseconds since the epoch. */
  readonly signedInAt: number;
  /** What each form of the page carries, in the field `csrf`. */
  readonly csrf: string;
}

/** A posted form, and who posted it. */
interface VisitorForm {
  readonly visitor: Visitor;
  readonly form: URLSearchParams;
}

/** The passphrase again: right, with the cookie of the new session, or what to tell the person. */
type Confirmation = Result<{ readonly cookie: string }, { readonly words: string; readonly status: 403 | 429 }>;

export interface Visits {
  /** The person, or the page that asks them to sign in and then leads to `page`. */
  enter(request: Request, page: ConsolePage): Promise<Result<Visitor, Response>>;
  /** The form of a signed-in person; others are asked to sign in, and post again. */
  readForm(request: Request, page: ConsolePage): Promise<Result<VisitorForm, Response>>;
  /** Judges the passphrase once more, and renews the session. */
  confirm(request: Request, visitor: Visitor, passphrase: string, peer: Peer): Promise<Confirmation>;
  /** Whether people sign in at another system, where no passphrase can be asked for. */
  readonly signInIsElsewhere: boolean;
}

interface VisitOptions extends InteractionOptions {
  readonly passwords: PasswordHasher;
  readonly throttle: PasswordThrottle;
}

export function createVisits(options: VisitOptions): Visits {
  const { browsers, secrets, limits, log } = options;
  const enter: Visits["enter"] = async (request, page) => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (signedIn === null) {
      const purpose = { kind: "account", browser, next: page } as const;
      return failure(await showSignIn(options, purpose, { cookies: browser.cookies }));
    }
    const { account, signedInAt } = signedIn;
    return success({
      userId: account.id,
      name: account.displayName,
      isAdministrator: account.isAdministrator,
      signedInAt,
      csrf: csrfToken(secrets, browser),
    });
  };
  return {
    enter,
    async readForm(request, page) {
      const form = await readBrowserForm(request, limits);
      if (!form.ok) return failure(errorPage(form.error));
      const browser = browsers.identify(request);
      if (!isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return failure(errorPage(foreignForm(browser)));
      const entered = await enter(request, page);
      return entered.ok ? success({ visitor: entered.value, form: form.value }) : entered;
    },
    async confirm(request, { userId }, passphrase, { address }) {
      const browser = browsers.identify(request);
      const outcome = await verifyPassphrase(options, { browser, userName: userId, passphrase, address });
      const fields = { user: outcome.user, address };
      if (outcome.ok) {
        log.write("audit", "confirmation", { outcome: "confirmed", ...fields });
        return success({ cookie: await browsers.signIn(request, outcome.account) });
      }
      const { reason, retryAfterSeconds } = outcome;
      log.write("audit", "confirmation", { outcome: "refused", reason, ...fields });
      return failure(
        retryAfterSeconds === null
          ? { words: "The passphrase is wrong. Try again.", status: 403 }
          : { words: `Too many attempts. Wait ${retryAfterSeconds} seconds, then try again.`, status: 429 },
      );
    },
    signInIsElsewhere: options.signInElsewhere !== undefined,
  };
}
