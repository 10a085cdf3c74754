/** What all calls of one server share while they run. */
import type { Clock } from "../lib/clock.ts";
import type { Admission } from "../lib/admission.ts";
import type { Log } from "../lib/log.ts";
import type { Principal } from "../lib/principal.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Timers } from "../lib/timers.ts";
import type { Tracer } from "../lib/tracer.ts";
import type { McpLimits } from "./limits.ts";
import type { CallWatch } from "./call_watch.ts";
import type { InFlight } from "./in_flight.ts";
import type { StructuredResults } from "./result_form.ts";
import type { PendingQuestions } from "./pending_questions.ts";
import type { StreamTable } from "./stream_table.ts";
import type { Tasks } from "./tasks.ts";

/** Takes a call, or another message that causes a write, from the principal's rate limit. */
export type Admit = (principal: Principal) => Admission | Promise<Admission>;

export interface Runtime {
  readonly log: Log;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly secretBox: SecretBox;
  readonly limits: McpLimits;
  /** A call that takes longer is aborted and answered as failed. */
  readonly toolTimeoutMs: number;
  readonly streams: StreamTable;
  readonly questions: PendingQuestions;
  readonly inFlight: InFlight;
  readonly callWatch: CallWatch;
  readonly tasks: Tasks;
  readonly admit: Admit;
  readonly structuredResults: StructuredResults;
  /** Fires when the server is about to give up the calls that still run. */
  readonly stopping: AbortSignal;
}
