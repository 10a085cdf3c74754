/**
 * The places in which calls work on files: so many of a grant and of a person at the same time, whose memory is bounded
 * with them. In its place a call first waits until its caller has read earlier answers.
 */
import { createParallelShare, whenAnswersAreRead } from "../lib/turns.ts";
import { shareKey } from "../lib/principal.ts";
import { failure, type Result } from "../lib/result.ts";
import type { ResourceFamily, Tool, ToolContext, ToolOutcome } from "../mcp/mod.ts";

const maxFileCallsAtOnce = 4;
/** Of all that the person has allowed: sixty clients that edit took 556 MiB. */
const maxFileCallsOfPerson = 8;

const answersUnread = {
  ok: false,
  code: "answers_unread",
  message: "Earlier answers to you wait to be read. Read them, then call again",
} as const;

export function createFilePlaces() {
  const ofGrant = createParallelShare(maxFileCallsAtOnce);
  const ofPerson = createParallelShare(maxFileCallsOfPerson);
  const inPlace = <T>(context: ToolContext, work: () => T | Promise<T>, refusal: T): T | Promise<T> => {
    const caller = shareKey(context.principal);
    const signal = (): AbortSignal => context.signal;
    const asPerson = () => ofPerson(context.principal.subject, work, signal);
    return ofGrant(caller, () => {
      const read = whenAnswersAreRead(caller, signal);
      return read === null ? asPerson() : read.then((isRead) => isRead ? asPerson() : refusal);
    }, signal);
  };
  /** Only what a held call is shown to do: the tool finds its own places. */
  const ofPreview = ({ preview, ...tool }: Tool): Tool => ({
    ...tool,
    ...preview && {
      preview: async (input, context) => await inPlace(context, () => preview(input, context), answersUnread),
    },
  });
  return {
    ofPreview,
    ofTool: (tool: Tool): Tool => ({
      ...ofPreview(tool),
      run: (input, context) => inPlace(context, () => tool.run(input, context), answersUnread),
    }),
    ofResources: (family: ResourceFamily): ResourceFamily => ({
      ...family,
      read: (uri, context) => inPlace(context, () => family.read(uri, context), { refusal: answersUnread.message }),
    }),
    /** Of a tool that waits for a person between two parts of its work. */
    ofWork: <T>(context: ToolContext, work: () => Promise<Result<T, ToolOutcome>>) =>
      inPlace(context, work, failure(answersUnread)),
  };
}
