import type { ModuleStatus } from "./status.ts";
import type { Unit } from "./unit.ts";

/** A dependency that is not ready, and its state. */
export interface PendingDependency {
  readonly name: string;
  /** E.g. `is installing`. */
  readonly how: string;
}

/** Returns the dependencies in `names` that are not ready. */
export function notReady(
  names: readonly string[],
  find: (name: string) => Unit | ModuleStatus | undefined,
): PendingDependency[] {
  return names.flatMap((name) => {
    const found = find(name);
    if (found === undefined) return [{ name, how: "is no longer in the config file" }];
    if ("processes" in found) return found.isReadyForDependents ? [] : [{ name, how: howOf(found) }];
    return found.state === "running" ? [] : [{ name, how: `is ${found.state}${reasonOf(found.reason)}` }];
  });
}

function howOf(unit: Unit): string {
  const { state, reason } = unit.status;
  return state === "ready" ? "has not ended yet" : `is ${state.replace("_", " ")}${reasonOf(reason)}`;
}

/** Returns the first line of the reason, in parentheses, because a reason may have several lines. */
function reasonOf(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${reason.split("\n", 1)[0]})`;
}

/**
 * Returns groups of names in the order of stopping: dependents first. A group stops when the previous groups have
 * stopped. Dependency cycles are rejected when the config is loaded.
 */
export function stopOrder(
  entries: readonly { readonly name: string; readonly dependsOn: readonly string[] }[],
): string[][] {
  const names = new Set(entries.map(({ name }) => name));
  const levels = new Map<string, number>();
  const levelOf = (name: string): number => {
    const known = levels.get(name);
    if (known !== undefined) return known;
    const dependents = entries.filter(({ dependsOn }) => dependsOn.includes(name));
    const level = dependents.length === 0 ? 0 : 1 + Math.max(...dependents.map((dependent) => levelOf(dependent.name)));
    levels.set(name, level);
    return level;
  };
  const groups: string[][] = [];
  for (const name of names) {
    const level = levelOf(name);
    const group = groups[level] ?? [];
    groups[level] = group;
    group.push(name);
  }
  return groups;
}
