import type { Violations } from "../violations.ts";
import type { ItemOperation, ItemValue } from "../workload/state-workload.ts";

const INVARIANT = "state is linearizable";

/** An operation with its place in the history of its item. */
interface Placed {
  readonly operation: ItemOperation;
  /**
   * Place among the versions of the item: its version, half a version more for a deletion. Undefined for a read of
   * nothing, which belongs after one of several deletions.
   */
  readonly place: number | undefined;
  readonly isWrite: boolean;
}

/**
 * Checks that the operations of each item have an order in which each sees its predecessors, and which agrees with the
 * times of the calls. Answers have versions, so the order of writes is known and one pass is enough: an operation must
 * not come before what had ended when it began.
 */
export function checkLinearizable(operations: readonly ItemOperation[], violations: Violations): void {
  for (const key of new Set(operations.map((operation) => operation.key)))
    checkItem(
      key,
      operations.filter((operation) => operation.key === key),
      violations,
    );
}

function checkItem(key: string, operations: readonly ItemOperation[], violations: Violations): void {
  const writers = new Map(operations.map((operation) => [operation.id, operation]));
  const versions = versionsOf(key, operations, violations);
  const versionOfWriter = new Map([...versions].map(([version, { by }]) => [by, version]));
  const deletions = [0, ...operations.flatMap((operation) => placeOfDeletion(operation, versionOfWriter) ?? [])];
  deletions.sort((a, b) => a - b);
  const placed = operations.map((operation): Placed => place(operation, versionOfWriter));
  // Every value that was seen was written by an operation that had begun.
  for (const { by } of versions.values()) {
    const writer = writers.get(by);
    if (
      writer === undefined ||
      writer.kind === "get" ||
      writer.kind === "delete" ||
      writer.outcome?.status === "failed"
    )
      violations.add(INVARIANT, `${key} has a value of operation ${by}, which did not write it`);
  }
  checkCounts(key, versions, writers, violations);
  const isUnclear = operations.some((operation) => isUnclearDeletion(operation, versionOfWriter));
  checkOrder(key, placed, isUnclear ? undefined : deletions, violations);
}

/** Returns the value of each version that an answer named. */
function versionsOf(
  key: string,
  operations: readonly ItemOperation[],
  violations: Violations,
): ReadonlyMap<number, ItemValue> {
  const versions = new Map<number, ItemValue>();
  for (const operation of operations) {
    const seen = versionSeen(operation);
    if (seen === undefined) continue;
    const [version, value] = seen;
    const known = versions.get(version);
    if (known !== undefined && known.by !== value.by)
      violations.add(INVARIANT, `${key} has two values of version ${version}: of ${known.by} and of ${value.by}`);
    versions.set(version, value);
  }
  return versions;
}

function versionSeen({ kind, outcome, id }: ItemOperation): readonly [number, ItemValue] | undefined {
  if (outcome?.status !== "ok" || kind === "delete" || outcome.output === null) return undefined;
  if (kind === "get") {
    const { version, value } = outcome.output as { version: number; value: ItemValue };
    return [version, value];
  }
  const { version, new_value: value } = outcome.output as { version: number; new_value: ItemValue | null };
  return value === null ? undefined : [version, { ...value, by: id }];
}

/** Returns the place of a deletion that ended: after the version that it deleted. */
function placeOfDeletion(
  { kind, outcome }: ItemOperation,
  versionOfWriter: ReadonlyMap<number, number>,
): number | undefined {
  if (kind !== "delete" || outcome?.status !== "ok" || outcome.output === null) return undefined;
  const deleted = versionOfWriter.get((outcome.output as ItemValue).by);
  return deleted === undefined ? undefined : deleted + 0.5;
}

/** True if the place of a deletion is not known: it may have happened, or no answer named the version that it deleted. */
function isUnclearDeletion(operation: ItemOperation, versionOfWriter: ReadonlyMap<number, number>): boolean {
  const { kind, outcome } = operation;
  if (kind !== "delete" || outcome?.status === "failed") return false;
  if (outcome?.status !== "ok") return true;
  return outcome.output !== null && placeOfDeletion(operation, versionOfWriter) === undefined;
}

function place(operation: ItemOperation, versionOfWriter: ReadonlyMap<number, number>): Placed {
  const { kind, outcome, id } = operation;
  if (kind === "delete") {
    const at = placeOfDeletion(operation, versionOfWriter);
    return { operation, place: at, isWrite: at !== undefined };
  }
  if (kind === "get") return { operation, place: versionSeen(operation)?.[0], isWrite: false };
  return { operation, place: outcome?.status === "failed" ? undefined : versionOfWriter.get(id), isWrite: true };
}

/** Each update adds one to the count of the version before it. */
function checkCounts(
  key: string,
  versions: ReadonlyMap<number, ItemValue>,
  writers: ReadonlyMap<number, ItemOperation>,
  violations: Violations,
): void {
  for (const [version, { n, by }] of versions) {
    const writer = writers.get(by);
    const before = versions.get(version - 1);
    const expected = writer?.kind === "set" ? 0 : before === undefined ? n : before.n + 1;
    if (n !== expected) violations.add(INVARIANT, `${key} has count ${n} at version ${version}, not ${expected}`);
  }
}

/**
 * Passes once over all begins and ends, in their order. `deletions` is undefined if the place of one is not known: then
 * nothing may be found anywhere.
 */
function checkOrder(
  key: string,
  placed: readonly Placed[],
  deletions: readonly number[] | undefined,
  violations: Violations,
): void {
  /** Highest place of an operation that has ended, and whether the one at it is a write. */
  let ended = 0;
  const least = new Map<ItemOperation, number>();
  const moments = placed.flatMap((one) => [
    { at: one.operation.begin, one, isEnd: false },
    { at: one.operation.outcome?.status === "ok" ? one.operation.end : Number.POSITIVE_INFINITY, one, isEnd: true },
  ]);
  moments.sort((a, b) => a.at - b.at);
  for (const { one, isEnd } of moments) {
    const { operation, isWrite } = one;
    if (!isEnd) {
      least.set(operation, ended);
      continue;
    }
    const from = least.get(operation) ?? 0;
    const isNothing = operation.outcome?.status === "ok" && operation.outcome.output === null;
    const at = one.place ?? (isNothing ? nothingFrom(from, deletions ?? [from]) : undefined);
    if (isNothing && at === undefined)
      violations.add(
        INVARIANT,
        `operation ${operation.id} found nothing at ${key}, but no deletion follows version ${from}`,
      );
    if (at === undefined) continue;
    if (at < from || (isWrite && at === from))
      violations.add(
        INVARIANT,
        `operation ${operation.id} (${operation.kind} of ${key}) is at version ${at}, but version ${from} was seen before it began`,
      );
    if (operation.outcome?.status === "ok") ended = Math.max(ended, at);
  }
}

/** Returns the first place from `from` on at which the item does not exist. */
function nothingFrom(from: number, deletions: readonly number[]): number | undefined {
  return deletions.find((place) => place >= from);
}
