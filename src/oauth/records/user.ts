/** Users, who may sign in. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const userSchema = z.lazy(() =>
  z.object({
    /** The name they sign in with, which is also the `sub` of their tokens; never reused. */
    id: z.string(),
    /** Shown in place of an id that means nothing to users. */
    displayName: z.string().optional(),
    /** Argon2id or scrypt, as a PHC string; or {@link noPassphrase}. */
    passwordHash: z.string(),
    /** Random, new with every change that ends what was allowed before: a new passphrase, disabling. */
    epoch: z.string(),
    disabled: z.boolean(),
    /** Named by the owner: sees and steers everything in the console. Absent in users of earlier versions. */
    administrator: z.boolean().optional(),
    createdAt: z.number(),
    passwordChangedAt: z.number(),
  })
);

export type User = z.output<typeof userSchema>;

/** `["user", id]` */
export const users = defineRecordFamily("user", userSchema);

/** The id of the user who set this server up. */
export const ownerId = "owner";

/** The `passwordHash` of users who sign in at the ServiceNow instance. Earlier versions accept no passphrase for it. */
export const noPassphrase = "";
