import { CallError } from "@svc-runtime/protocol";
import { type BatchedWrite, type ItemUpdated, type ItemWrite, MAX_MANY_BYTES } from "../../item-store.ts";
import { MAX_WAITING_DELIVERIES, outboxEntries, tooManyDeliveriesText } from "../../outbox.ts";
import { manyTooLargeText, planWrite } from "../../plan-write.ts";
import { itemOf, printEnd } from "./record.ts";

/** Reply of the script for each write: status, stored record, new version, and the sequence numbers of its changes. */
export type OneReply = readonly [string, string | null, string, string | null, string | null];

export type WriteReply =
  | readonly ["done", ...OneReply[]]
  | readonly ["conflict", string, string]
  | readonly ["moved"]
  | readonly ["overfull", string, string]
  | readonly ["too_large", string];

/** Values of a store that are the same for all writes. */
export interface WriteContext {
  readonly prefix: string;
  readonly owner: string;
  /** Total adjustment of this engine's wall clock (see `itemOf`). */
  readonly setByMs: number;
}

/** Returns the arguments of the write script. */
export function writeArguments(
  { prefix, owner, setByMs }: WriteContext,
  writes: readonly BatchedWrite[],
  plannedFor: number | undefined,
): (string | number)[] {
  const args: (string | number)[] = [prefix, owner, MAX_WAITING_DELIVERIES, MAX_MANY_BYTES, setByMs, writes.length];
  for (const one of writes) {
    const { now, ifVersion, leastVersion, notice } = one.write;
    args.push(one.type, one.scope, one.key, now, ifVersion ?? "", leastVersion ?? 0, plannedFor ?? "");
    if (one.type === "set") args.push(one.value.json, printEnd(one.value.expiresAt, setByMs));
    else args.push("", "-");
    args.push(notice?.origin ?? "", notice?.watchers.length ?? 0);
    for (const { id, kinds } of notice?.watchers ?? []) args.push(id, [...kinds].join(" "));
  }
  return args;
}

export function writeBytes(writes: readonly BatchedWrite[]): number {
  return writes.reduce(
    (sum, one) => sum + 2 * (one.scope.length + one.key.length) + (one.type === "set" ? one.value.bytes : 0),
    0,
  );
}

/**
 * Builds the result of a write. Plans it again like the script, from the stored record that the script returned,
 * because the script returns only what this process does not know.
 */
export function writtenOf(one: BatchedWrite, reply: OneReply | undefined, setByMs: number): ItemUpdated {
  if (reply === undefined) throw new Error("Redis returned fewer results than writes; this is a bug in the engine");
  const [status, record, version, ...numbers] = reply;
  const old = record === null ? undefined : itemOf(one.key, record, setByMs);
  const intent = one.type === "set" ? ({ type: "set", value: one.value } as const) : ({ type: "delete" } as const);
  // Makes the plan use the script's version, which is the scope's floor plus one, or the least version of the write.
  const plan = planWrite(old, one, intent, one.write, () => Number(version) - 1);
  if (!("row" in plan) || plan.status !== status)
    throw new Error(`Redis reported a write as ${status}, but the plan is ${plan.status}; this is a bug in the engine`);
  const changes = outboxEntries(plan.changes, one.write.notice).map(({ change, watchers }, index) => {
    const seq = numbers[index];
    return { ...change, seq: seq === null || seq === undefined ? undefined : Number(seq), watchers };
  });
  return { status: plan.status, item: plan.item, previous: plan.previous, changes, errors: plan.errors };
}

/** Converts a refusal of the write script to an error. */
export function refusalOf(reply: WriteReply): CallError {
  if (reply[0] === "overfull") {
    const [, watcher, waiting] = reply;
    return new CallError("overloaded", tooManyDeliveriesText(watcher, Number(waiting)), {
      details: { watcher, waiting: Number(waiting) },
    });
  }
  if (reply[0] === "too_large") {
    const bytes = Number(reply[1]);
    return new CallError("payload_too_large", manyTooLargeText(bytes), { details: { bytes, limit: MAX_MANY_BYTES } });
  }
  return new CallError("storage_failed", `Redis returned ${reply[0]} for a write; this is a bug in the engine`);
}

export function oneSet(
  scope: string,
  key: string,
  value: { readonly json: string; readonly bytes: number; readonly expiresAt: number | undefined },
  write: ItemWrite,
): BatchedWrite {
  return { type: "set", scope, key, value, write };
}
