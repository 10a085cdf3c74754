/** Fields that are never shown, searched or written, and the fixed lists of fields that people and groups show. */

/** What a user's own profile and any other person's record show: nothing of how the account is protected. */
export const personFields: readonly string[] = [
  "sys_id",
  "user_name",
  "name",
  "first_name",
  "last_name",
  "email",
  "title",
  "department",
  "company",
  "location",
  "manager",
  "phone",
  "time_zone",
  "preferred_language",
  "active",
];

const safeFields: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["sys_user", new Set([...personFields, "mobile_phone", "vip"])],
  ["sys_user_group", new Set(["sys_id", "name", "description", "manager", "email", "parent", "active", "type"])],
  ["sys_user_grmember", new Set(["sys_id", "user", "group"])],
]);

const secretName =
  /passw|passphrase|secret(?!ary)|token|credential|api_?key|private_key|(^|_)(pin|pwd|otp|hash|salt|cookie|ssn)(_|$)|session_id|failed_attempts/;
const secretType = /^(password|password2|masked|encrypted)/;

export function isSecretField(name: string, type = ""): boolean {
  return secretName.test(name) || secretType.test(type);
}

/** People and groups: read by a fixed list of fields, and by nothing else. */
export function hasFixedFields(table: string): boolean {
  return safeFields.has(table);
}

/** Whether a field of the table may be shown and searched. */
export function mayShowField(table: string, name: string, type?: string): boolean {
  return !isSecretField(name, type) && (safeFields.get(table)?.has(name) ?? true);
}

/** Fields that the platform keeps itself: a write to one of them is refused. */
export function isPlatformField(name: string): boolean {
  return name.startsWith("sys_") || name === "number";
}
