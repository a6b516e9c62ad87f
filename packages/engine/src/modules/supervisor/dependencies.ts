import type { ModuleStanding } from "./status.ts";
import type { Unit } from "./unit.ts";

/** Something that is waited for, and how it is. */
export interface Awaited {
  readonly name: string;
  /** E.g. `is installing`. */
  readonly how: string;
}

/** Those of `names` that what depends on them has to wait for. */
export function notReady(names: readonly string[], find: (name: string) => Unit | ModuleStanding | undefined): Awaited[] {
  return names.flatMap((name) => {
    const found = find(name);
    if (found === undefined) return [{ name, how: "is in the config file no more" }];
    if ("processes" in found) return found.isDone ? [] : [{ name, how: howOf(found) }];
    return found.state === "running" ? [] : [{ name, how: `is ${found.state}${reasonOf(found.reason)}` }];
  });
}

function howOf(unit: Unit): string {
  const { state, reason } = unit.standing;
  return state === "ready" ? "has not ended yet" : `is ${state.replace("_", " ")}${reasonOf(reason)}`;
}

/** A reason may have several lines, and a manifest many problems. */
function reasonOf(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${reason.split("\n", 1)[0]})`;
}

/** Groups of names, each of which may be stopped at once when those before it are gone: what depends on others comes first. Without circles. */
export function stopOrder(entries: readonly { readonly name: string; readonly dependsOn: readonly string[] }[]): string[][] {
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
