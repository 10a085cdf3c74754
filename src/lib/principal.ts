/** Who a request acts for: established by the token guard, never by anything in the request's body. */
export interface Principal {
  /** The `sub` of the token: the user's stable id. */
  readonly subject: string;
  /** The OAuth client the token was issued to; `portcullis-cli` for tokens made by `token create`. */
  readonly clientId: string;
  /** The grant the token hangs on: revoking it ends every token issued under it. */
  readonly grantId: string;
  /** The token's own id (`jti`). */
  readonly tokenId: string;
  /** The key that signed the token; `null` for operator tokens and stdio, where no key did. */
  readonly keyId: string | null;
  /** Effective scopes: what was granted plus what that implies. */
  readonly scopes: ReadonlySet<string>;
  /** Of a workspace of several directories those that it may use; all unless given. */
  readonly directories?: readonly string[] | undefined;
  /** When the token was issued, where that is known, and when it ends, in milliseconds since the epoch. */
  readonly issuedAt?: number;
  readonly expiresAt: number;
}

/** A grant, or a token of the command line, which is a grant of its own. */
export type NamedGrant = Pick<Principal, "clientId" | "grantId">;

export function hasScopes({ scopes: held }: Principal, scopes: readonly string[]): boolean {
  for (const scope of scopes) if (!held.has(scope)) return false;
  return true;
}

/** Whether it may use all of these directories of the workspace; `undefined`: whatever there is. */
export function hasDirectories({ directories }: Principal, needed: readonly string[] | undefined): boolean {
  return directories === undefined || (needed?.every((each) => directories.includes(each)) ?? false);
}

/** Whose calls are counted together. */
export function callerKey({ subject, clientId }: Principal): string {
  return `${subject} ${clientId}`;
}

/**
 * Whose time on the thread is counted together: one client may serve many people, and one person have many clients. The
 * tokens of one grant are one caller, since each refresh makes one more.
 */
export function shareKey({ subject, grantId }: Principal): string {
  return `${subject} ${grantId}`;
}

/** What became of a request's Authorization header. */
export type AuthOutcome =
  | { readonly kind: "principal"; readonly principal: Principal }
  /** No bearer token at all; answer 401 unless the request is public. */
  | { readonly kind: "no_token" }
  | {
    readonly kind: "refused";
    readonly status: 400 | 401;
    /** A stable name for the audit log. */
    readonly reason: string;
    readonly wwwAuthenticate: string;
  };

/** One scope as this server offers it. */
interface ScopeDefinition {
  readonly name: string;
  /** What the consent page says, continuing "… wants to". */
  readonly words: string;
  /** Scopes that this one includes. */
  readonly implies: readonly string[];
}

/** Every scope that this server knows, in the order in which people are shown them. */
export const scopeCatalogue: readonly ScopeDefinition[] = [
  { name: "files:read", words: "Read your files", implies: [] },
  { name: "files:write", words: "Read, create, change and delete your files", implies: ["files:read"] },
  { name: "llm:generate", words: "Use your local model", implies: [] },
  { name: "servicenow:read", words: "Read the ServiceNow records that you may see", implies: [] },
  {
    name: "servicenow:write",
    words: "Read, create, change, comment, order and approve in ServiceNow in your name",
    implies: ["servicenow:read"],
  },
];

/** The names of the scopes that an installation offers: those of ServiceNow only with an instance. */
export function offeredScopes({ servicenow }: { readonly servicenow: "off" | "read" | "write" }): readonly string[] {
  const hidden: Readonly<Record<typeof servicenow, readonly string[]>> = {
    off: ["servicenow:read", "servicenow:write"],
    read: ["servicenow:write"],
    write: [],
  };
  return scopeCatalogue.map(({ name }) => name).filter((name) => !hidden[servicenow].includes(name));
}

/** The scopes of `granted` that this server knows, with everything they imply (MCP 2026-07-28: scope hierarchies). */
export function effectiveScopes(granted: Iterable<string>): ReadonlySet<string> {
  const effective = new Set<string>();
  const add = (name: string): void => {
    const definition = scopeCatalogue.find((scope) => scope.name === name);
    if (definition === undefined || effective.has(name)) return;
    effective.add(name);
    definition.implies.forEach(add);
  };
  for (const name of granted) add(name);
  return effective;
}
