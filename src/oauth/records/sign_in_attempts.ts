/** Attempts to sign in that failed or are being checked, counted for the throttle. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

/** Attempts that count together. */
export interface SignInAttempts {
  readonly failures: number;
  /** The next attempt may begin then. In milliseconds of the agreed clock, as `lastAt`. */
  readonly notBefore: number;
  readonly lastAt: number;
}

/** `["sign_in_attempts", HMAC of an address or a browser]`, and `["sign_in_attempts", "everyone"]`, expiring. */
export const signInAttempts = defineRecordFamily(
  "sign_in_attempts",
  z.object({ failures: z.number(), notBefore: z.number(), lastAt: z.number() }),
);
