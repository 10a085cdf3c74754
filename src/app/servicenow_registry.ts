/** The form that registers this server as an OAuth client of an instance, filled in. */

/** Where the form is, and its fields with what belongs into each. docs/servicenow.md shows the same. */
export function registryForm(serverUrl: string): readonly (readonly [field: string, value: string])[] {
  return [
    ["Name", "Portcullis"],
    ["Client Secret", "leave empty, the instance makes one"],
    ["Redirect URL", `${serverUrl}/servicenow/callback`],
    ["Public Client", "not ticked"],
    ["Refresh Token Lifespan", "8640000"],
    ["Access Token Lifespan", "1800"],
    ["Auth Scope", "useraccount"],
  ];
}

const registryPlace =
  "All > System OAuth > Application Registry > New > Create an OAuth API endpoint for external clients";

/** For a server whose SERVICENOW_INSTANCE is set alone: what to do next, line by line. */
export function registryAdvice(serverUrl: string, missing: readonly string[]): readonly string[] {
  const fields = registryForm(serverUrl);
  const width = Math.max(...fields.map(([field]) => field.length)) + 2;
  return [
    `To use ServiceNow, register this server at the instance (role admin): ${registryPlace}.`,
    ...fields.map(([field, value]) => `  ${field.padEnd(width)}${value}`),
    `Then set ${missing.join(" and ")} from that form.`,
  ];
}

/** The same on one line. */
export function formWords(serverUrl: string): string {
  return registryForm(serverUrl).map(([field, value]) => `${field} ${value}`).join("; ");
}
