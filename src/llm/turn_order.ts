/** The order in which waiting calls get their turns, if no others arrive: what a caller is told about its place. */

/** Who calls: turns go round the people first, then round each person's clients, which no two people share. */
export interface ModelCaller {
  readonly person: string;
  readonly client: string;
}

interface Call {
  readonly caller: ModelCaller;
}

/** The waiting calls, the next one first: rounds of the people, and for each person rounds of the clients. */
export function turnOrder<Waiter extends Call>(waiters: readonly Waiter[], running: Iterable<Call>): readonly Waiter[] {
  const inside = [...running];
  const [ofPerson, ofClient] = [countBy(inside, "person"), countBy(inside, "client")];
  const ofPeople = Map.groupBy(waiters, ({ caller }) => caller.person);
  return inRounds([...ofPeople].map(([person, own]) => {
    const ofClients = Map.groupBy(own, ({ caller }) => caller.client);
    const calls = inRounds(
      [...ofClients].map(([client, calls]) => ({ calls, had: ofClient.get(client) ?? 0 })),
    );
    return { calls, had: ofPerson.get(person) ?? 0 };
  }));
}

/** One call of each queue in turn; a queue that has had turns begins that many rounds later. */
function inRounds<Item>(
  queues: readonly { readonly calls: readonly Item[]; readonly had: number }[],
): readonly Item[] {
  return queues.flatMap(({ calls, had }) => calls.map((call, index) => ({ call, round: had + index })))
    .sort((a, b) => a.round - b.round)
    .map(({ call }) => call);
}

/** How many of the calls each person, or each client, has. */
export function countBy(calls: Iterable<Call>, part: keyof ModelCaller): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { caller } of calls) counts.set(caller[part], (counts.get(caller[part]) ?? 0) + 1);
  return counts;
}
