/**
 * Redirect URIs on a desktop application's own scheme (RFC 8252 §7.1). MCP asks for https or loopback; these are a
 * deliberate deviation for applications that register nothing else. Another program can claim a scheme, but cannot
 * redeem the code without the PKCE verifier, which is mandatory here. Whole addresses only, never schemes.
 */
const applications: Readonly<Record<string, string>> = {
  // Desktop versions before the loopback callback: https://github.com/different-ai/openwork/pull/3059
  "cursor://anysphere.cursor-mcp/oauth/callback": "Cursor",
  // The desktop application's own MCP sign-in: https://github.com/anthropics/claude-code/issues/93671
  "claude://claude.ai/mcp-auth-callback/sdk": "Claude",
  // https://github.com/warpdotdev/warp/issues/9088
  "warp://mcp/oauth2callback": "Warp",
};

/** The application that a native redirect URI belongs to, or `null` when it is not one of the known addresses. */
export function nativeApplicationOf(redirectUri: string): string | null {
  return Object.hasOwn(applications, redirectUri) ? applications[redirectUri] ?? null : null;
}
