import assert from "node:assert/strict";
import { parseDatabaseUrl } from "../../src/storage/mod_settings.ts";

const local = { kind: "postgres", host: "127.0.0.1", port: 5432, database: "d", user: "u", password: "p", tls: false };

const accepted: readonly (readonly [string, unknown])[] = [
  ["postgres://u:p@127.0.0.1/d", local],
  ["postgresql://u:p@localhost:5433/d", { ...local, host: "localhost", port: 5433 }],
  ["postgres://u:p@[::1]/d", { ...local, host: "::1" }],
  ["postgres://u%40x:p%2F%3F@127.0.0.1/d%20e", { ...local, user: "u@x", password: "p/?", database: "d e" }],
  ["postgres://u:p@localhost/d?host=/run/postgresql", { ...local, host: "/run/postgresql" }],
  ["postgres://u:p@db/d?sslmode=disable", { ...local, host: "db" }],
  ["postgres://u:p@db/d?sslmode=require", { ...local, host: "db", tls: true }],
  ["postgres://u:p@db/d?sslmode=verify-full&sslrootcert=system", { ...local, host: "db", tls: true }],
  ["postgres://u:p@db/d?sslmode=verify-full&sslrootcert=/ca", {
    ...local,
    host: "db",
    tls: true,
    rootCertificatePath: "/ca",
  }],
  ["postgres://u:p@db/d", { ...local, host: "db", tls: true }],
  ["postgresql://u:p@db.prisma.io:5432/3ba03b--main", {
    ...local,
    host: "db.prisma.io",
    database: "3ba03b--main",
    tls: true,
  }],
  ["postgres://u:p@db/d?sslmode=prefer", { ...local, host: "db", tls: true }],
  ["postgres://u:p@localhost/d?sslmode=prefer", { ...local, host: "localhost" }],
  ["postgres://u:p@db/d?sslmode=require&channel_binding=require&application_name=app&pgbouncer=true", {
    ...local,
    host: "db",
    tls: true,
  }],
  ["postgres:///?host=/run/postgresql&port=5433&user=u&password=p%26&dbname=d", {
    ...local,
    host: "/run/postgresql",
    port: 5433,
    password: "p&",
  }],
];

const refused: readonly (readonly [string, RegExp])[] = [
  ["", /of the form/],
  ["mysql://u:p@127.0.0.1/d", /of the form/],
  ["deno-kv:", /of the form/],
  ["postgres://u:hunter2@db/d?sslmode=on", /verify-full/],
  ["postgres://u:hunter2@192.0.2.1/d", /name the server/],
  ["postgres://u:hunter2@192.0.2.1/d?sslmode=allow", /name the server/],
  ["postgres://u:hunter2@127.0.0.1/d?port=0", /a port/],
  ["postgres://u:hunter2@127.0.0.1/d?sslmode=verify-full", /name the server/],
  ["postgres://u:hunter2@[2001:db8::1]/d?sslmode=verify-full", /name the server/],
  ["postgres://127.0.0.1/d", /a user/],
  ["postgres://u:hunter2@127.0.0.1", /a database/],
  ["postgres://u:hunter2%@127.0.0.1/d", /a user/],
];

Deno.test("parseDatabaseUrl() takes servers and sockets, passes over other parameters, and verifies other machines by TLS", () => {
  for (const [text, location] of accepted) {
    assert.deepEqual(parseDatabaseUrl(text), { ok: true, value: location }, text);
  }
});

Deno.test("parseDatabaseUrl() says what is wrong without showing the password", () => {
  for (const [text, hint] of refused) {
    const parsed = parseDatabaseUrl(text);
    assert.ok(!parsed.ok, text);
    assert.match(parsed.error, hint);
    assert.ok(!parsed.error.includes("hunter2"));
  }
});
