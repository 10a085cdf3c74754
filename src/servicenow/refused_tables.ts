/**
 * Tables that no setting opens: roles, credentials, tokens, scripts and the platform's own configuration. A table whose
 * name begins with `sys` or `v_` is the platform's, but for people, groups, their members and approvals.
 */

const platformTablesOffered: ReadonlySet<string> = new Set([
  "sys_user",
  "sys_user_group",
  "sys_user_grmember",
  "sysapproval_approver",
  "sysapproval_group",
]);

const platformPrefix =
  /^(sys|v_|oauth|ecc_|wf_|sp_|ldap_|saml|sso_|digest_|x509_|clone_|ha_|db_|discovery_|mid_|cert_)/;
const refusedWord =
  /credential|passw|secret|certificate|encrypt|multifactor|private_key|api_key|(^|_)(roles?|acls?|tokens?|scripts?|sessions?|cookies?|mfa)(_|$)/;

export function isRefusedTable(table: string): boolean {
  return !/^[a-z][a-z0-9_]{1,79}$/.test(table) ||
    (!platformTablesOffered.has(table) && (platformPrefix.test(table) || refusedWord.test(table)));
}
