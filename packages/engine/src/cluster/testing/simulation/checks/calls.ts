import type { SimulatedNode } from "../simulated-node.ts";
import type { Violations } from "../violations.ts";
import { CallWorkload } from "../workload/call-workload.ts";

/** Returns the nodes whose functions another running node does not see, e.g. `b at a`. */
export function invisibleNodes(nodes: readonly SimulatedNode[]): readonly string[] {
  const expected = nodes.filter(({ isOff }) => !isOff);
  return expected.flatMap(({ name, running }) =>
    expected
      .filter((other) => {
        const found = running?.engine.directory.functionById(CallWorkload.functionAt(other.name));
        return running !== undefined && found?.status !== "available";
      })
      .map((other) => `${other.name} at ${name}`),
  );
}

/** Checks the calls of clients after everything has settled. */
export function checkCalls(
  { calls, executions }: CallWorkload,
  nodes: readonly SimulatedNode[],
  violations: Violations,
): void {
  const executionsOf = new Map<number, CallWorkload["executions"]>();
  for (const execution of executions)
    executionsOf.set(execution.call, [...(executionsOf.get(execution.call) ?? []), execution]);
  for (const { id, from, to, outcome } of calls) {
    const found = executionsOf.get(id) ?? [];
    if (found.length > 1)
      violations.add("a call runs once", `call ${id} from ${from} ran at ${found.map(({ node }) => node)}`);
    if (outcome === undefined || (outcome.status === "unknown" && outcome.code === "gave_up"))
      violations.add("no call is open", `call ${id} from ${from} to ${to} was not answered`);
    // Peers that are gone are known long before, and no function takes that long.
    if (outcome !== undefined && outcome.status !== "ok" && outcome.code === "call_timeout")
      violations.add("no call is open", `call ${id} from ${from} to ${to} ended only by its deadline`);
    if (outcome?.status === "failed" && outcome.executed === "no" && found.length > 0)
      violations.add(
        "a call runs once",
        `call ${id} from ${from} failed as not executed, and ran at ${found[0]?.node}`,
      );
    if (outcome?.status !== "ok") continue;
    const [execution] = found;
    if (execution?.answer !== outcome.output || (to !== undefined && execution?.node !== to))
      violations.add(
        "an answer is that of the asked run",
        `call ${id} from ${from} to ${to} got ${outcome.output}, and ${execution?.node} answered ${execution?.answer}`,
      );
  }
  for (const pair of invisibleNodes(nodes)) violations.add("functions of live peers are visible", pair);
}

/** Returns the engines that wait for calls, e.g. `2 calls at a`. */
export function callsInFlight(nodes: readonly SimulatedNode[]): readonly string[] {
  return nodes.flatMap(({ name, running }) => {
    const count = running?.engine.kernel.router.counts.inFlight ?? 0;
    return count > 0 ? [`${count} calls are in flight at ${name}`] : [];
  });
}
