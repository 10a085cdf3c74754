/** Choices of the base system, for people who may read neither choices nor a record that has them. */

interface UsualChoice {
  readonly value: string;
  readonly label: string;
}

/** A line for each list: `table.field: value=label; ...`; what a task has, each table that extends it may have. */
const lists = `
  task.priority: 1=1 - Critical; 2=2 - High; 3=3 - Moderate; 4=4 - Low; 5=5 - Planning
  task.urgency: 1=1 - High; 2=2 - Medium; 3=3 - Low
  task.impact: 1=1 - High; 2=2 - Medium; 3=3 - Low
  task.state: -5=Pending; 1=Open; 2=Work in Progress; 3=Closed Complete; 4=Closed Incomplete; 7=Closed Skipped
  task.approval: not requested=Not Yet Requested; requested=Requested; approved=Approved; rejected=Rejected
  task.contact_type: email=Email; phone=Phone; self-service=Self-service; chat=Chat; walk-in=Walk-in
  incident.category: inquiry=Inquiry / Help; software=Software; hardware=Hardware; network=Network; database=Database
  incident.state: 1=New; 2=In Progress; 3=On Hold; 6=Resolved; 7=Closed; 8=Canceled
  incident.hold_reason: 1=Awaiting Caller; 3=Awaiting Problem; 4=Awaiting Vendor; 5=Awaiting Change
  problem.state: 101=New; 102=Assess; 103=Root Cause Analysis; 104=Fix in Progress; 106=Resolved; 107=Closed
  problem.resolution_code: fix_applied=Fix Applied; risk_accepted=Risk Accepted; duplicate=Duplicate; canceled=Canceled
  change_request.state: -5=New; -4=Assess; -3=Authorize; -2=Scheduled; -1=Implement; 0=Review; 3=Closed; 4=Canceled
  change_request.close_code: successful=Successful; successful_issues=Successful with issues; unsuccessful=Unsuccessful
  change_request.type: normal=Normal; standard=Standard; emergency=Emergency
  change_request.risk: 2=High; 3=Moderate; 4=Low
  kb_knowledge.workflow_state: draft=Draft; review=Review; published=Published; retired=Retired
  change_task.state: -5=Pending; 1=Open; 2=In Progress; 3=Closed; 4=Canceled
  change_task.close_code: successful=Successful; successful_issues=Successful with issues; unsuccessful=Unsuccessful
  sysapproval_approver.state: requested=Requested; approved=Approved; rejected=Rejected; cancelled=Cancelled
`;

/** States in which the base system takes work as done, and keeps it active until it is closed. */
export const resolvedStates: Readonly<Record<string, string>> = { incident: "6", problem: "106" };

const byField: ReadonlyMap<string, readonly UsualChoice[]> = new Map(
  lists.trim().split("\n").map((line) => {
    const [field = "", choices = ""] = line.trim().split(": ");
    return [
      field,
      choices.split("; ").map((choice) => {
        const [value = "", label = ""] = choice.split("=");
        return { value, label };
      }),
    ];
  }),
);

/** `lineage` is the table and those that it extends, nearest first. */
export function usualChoices(lineage: readonly string[], field: string): readonly UsualChoice[] {
  const owner = lineage.find((table) => byField.has(`${table}.${field}`));
  return owner === undefined ? [] : byField.get(`${owner}.${field}`) ?? [];
}
