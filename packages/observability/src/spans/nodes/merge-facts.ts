import { MAX_ERROR_ENDS, MAX_FUNCTIONS, MAX_SERVICES, type TraceFacts } from "../trace-facts.ts";

/** The facts about a trace that one node has. */
export interface FactsOfNode {
  readonly node: string;
  readonly facts: TraceFacts;
}

/** Compares two parts of a trace: first the part with the root span, then by start time. */
function compareParts(one: FactsOfNode, other: FactsOfNode): number {
  if (one.facts.partial !== other.facts.partial) return one.facts.partial ? 1 : -1;
  return one.facts.rootStartUs - other.facts.rootStartUs || (one.node < other.node ? -1 : 1);
}

/** Returns the part whose position the trace has in lists. Returns undefined if there are no parts. */
export function leadingPart<Part extends FactsOfNode>(parts: readonly Part[]): Part | undefined {
  return parts.toSorted(compareParts)[0];
}

/** Returns the facts of a trace whose spans are at several nodes. */
export function mergeFacts(parts: readonly [FactsOfNode, ...FactsOfNode[]]): TraceFacts {
  const leading = (leadingPart(parts) ?? parts[0]).facts;
  const all = parts.map(({ facts }) => facts);
  const first = all.reduce((one, other) => (other.functionStartUs < one.functionStartUs ? other : one));
  const sum = (of: (facts: TraceFacts) => number): number => all.reduce((total, facts) => total + of(facts), 0);
  return {
    ...leading,
    services: namesIn(all, (facts) => facts.services, MAX_SERVICES),
    functions: namesIn(all, (facts) => facts.functions, MAX_FUNCTIONS),
    functionId: first.functionId,
    functionStartUs: first.functionStartUs,
    startUs: Math.min(...all.map((facts) => facts.startUs)),
    endUs: Math.max(...all.map((facts) => facts.endUs)),
    spanCount: sum((facts) => facts.spanCount),
    errorCount: sum((facts) => facts.errorCount),
    pendingCount: sum((facts) => facts.pendingCount),
    errorEndsUs: all.flatMap((facts) => facts.errorEndsUs).slice(0, MAX_ERROR_ENDS),
    nodes: parts.map(({ node }) => node).sort(),
  };
}

function namesIn(
  all: readonly TraceFacts[],
  names: (facts: TraceFacts) => readonly string[],
  max: number,
): readonly string[] {
  return [...new Set(all.flatMap((facts) => names(facts)))].slice(0, max);
}
