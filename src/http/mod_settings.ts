/**
 * Where the server listens, which names and origins it answers to, which proxies it trusts, and how many requests it
 * admits. `app` reads these settings before the rest of http is loaded.
 */
import {
  optional,
  parseDirectoryUrl,
  parseDomain,
  parseHost,
  parseInteger,
  parseList,
  parseOrigin,
  parseServerUrl,
  parseText,
  parseTrustedProxies,
  required,
} from "../lib/settings.ts";

/** Settings under the heading Address. */
export const httpSettings = {
  publicDomain: optional({
    env: "PUBLIC_DOMAIN",
    flag: "public",
    parse: parseDomain,
    help:
      "DNS name of this machine: listen on 443 and 80, with a certificate from ACME_DIRECTORY, whose terms this accepts",
  }),
  host: required({
    env: "HOST",
    flag: "host",
    default: "127.0.0.1",
    defaultOnDeploy: "0.0.0.0",
    defaultWhenPublic: "0.0.0.0",
    parse: parseHost,
    help: "address to listen on",
  }),
  port: required({
    env: "PORT",
    flag: "port",
    default: "3000",
    defaultOnDeploy: "8000",
    defaultWhenPublic: "443",
    parse: parseInteger(0, 65_535),
    help: "port to listen on; 0 takes any free one",
  }),
  httpPort: required({
    env: "HTTP_PORT",
    default: "80",
    parse: parseInteger(1, 65_535),
    help: "with PUBLIC_DOMAIN, the port to which port 80 leads: for the certificate authority, and redirects to https",
  }),
  acmeDirectory: required({
    env: "ACME_DIRECTORY",
    default: "https://acme-v02.api.letsencrypt.org/directory",
    parse: parseDirectoryUrl,
    help: "with PUBLIC_DOMAIN, the ACME directory of the certificate authority",
  }),
  serverUrl: optional({
    env: "SERVER_URL",
    flag: "server-url",
    parse: parseServerUrl,
    help: "URL that clients use to reach the server; also the OAuth issuer",
  }),
  allowedOrigins: optional({
    env: "ALLOWED_ORIGINS",
    parse: parseList(parseOrigin),
    help: "web origins whose pages may call the server, comma-separated",
  }),
  allowedHosts: optional({
    env: "ALLOWED_HOSTS",
    parse: parseList(parseHost),
    help: "further host names (with port) that the server answers to, for example behind a proxy",
  }),
  tlsCertificateFile: optional({
    env: "TLS_CERT_FILE",
    parse: parseText,
    help: "PEM file with the certificates to serve https with, the server's own first; read once, at the start",
  }),
  tlsKeyFile: optional({
    env: "TLS_KEY_FILE",
    parse: parseText,
    help: "PEM file with the private key that belongs to TLS_CERT_FILE",
  }),
  trustedProxies: optional({
    env: "TRUST_PROXY",
    parse: parseTrustedProxies,
    help:
      "proxies trusted to report the client's address (X-Forwarded-For): their number, or their networks, comma-separated",
  }),
};

/** Settings under the heading Rate limits. */
export const rateLimitSettings = {
  toolCallsPerMinute: required({
    env: "MCP_RATE_LIMIT",
    default: "600",
    parse: parseInteger(1, 1_000_000_000),
    help: "calls and other requests a minute for each user and client",
  }),
  oauthFailuresPerQuarterHour: required({
    env: "OAUTH_RATE_LIMIT",
    default: "100",
    parse: parseInteger(1, 1_000_000_000),
    help:
      "failed OAuth requests in 15 minutes for each address; ten times as many requests in all, and a fifth as many registrations an hour",
  }),
};
