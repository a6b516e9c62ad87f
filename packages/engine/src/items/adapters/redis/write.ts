import { CallError } from "@svc/protocol";
import { type ItemUpdated, type ItemWrite, MAX_MANY_BYTES, type OneOfMany } from "../../item-store.ts";
import { MAX_WAITING_DELIVERIES, overfullText, toldOf } from "../../outbox.ts";
import { manyTooLargeText, planWrite } from "../../plan-write.ts";
import { itemOf, printEnd } from "./record.ts";

/** What the script answers for each write: status, stored record, version afterwards, and the numbers of its changes. */
export type OneReply = readonly [string, string | null, string, string | null, string | null];

export type WriteReply =
  | readonly ["done", ...OneReply[]]
  | readonly ["conflict", string, string]
  | readonly ["moved"]
  | readonly ["overfull", string, string]
  | readonly ["too_large", string];

/** What a store of items calls itself in its scripts. */
export interface WriteContext {
  readonly prefix: string;
  readonly owner: string;
  /** See `itemOf`. */
  readonly setByMs: number;
}

/** Arguments of the write script. */
export function writeArguments({ prefix, owner, setByMs }: WriteContext, writes: readonly OneOfMany[], plannedFor: number | undefined): (string | number)[] {
  const args: (string | number)[] = [prefix, owner, MAX_WAITING_DELIVERIES, MAX_MANY_BYTES, setByMs, writes.length];
  for (const one of writes) {
    const { now, ifVersion, notice } = one.write;
    args.push(one.type, one.scope, one.key, now, ifVersion ?? "", plannedFor ?? "");
    if (one.type === "set") args.push(one.value.json, printEnd(one.value.expiresAt, setByMs));
    else args.push("", "-");
    args.push(notice?.origin ?? "", notice?.watchers.length ?? 0);
    for (const { id, kinds } of notice?.watchers ?? []) args.push(id, [...kinds].join(" "));
  }
  return args;
}

export function writeBytes(writes: readonly OneOfMany[]): number {
  return writes.reduce((sum, one) => sum + 2 * (one.scope.length + one.key.length) + (one.type === "set" ? one.value.bytes : 0), 0);
}

/** Tells a write's answer from what the script found: the same plan as the script's, made for the record that it met. */
export function writtenOf(one: OneOfMany, reply: OneReply | undefined, setByMs: number): ItemUpdated {
  if (reply === undefined) throw new Error("Redis answered fewer writes than it was asked for; this is a defect of the engine");
  const [status, record, version, ...numbers] = reply;
  const old = record === null ? undefined : itemOf(one.key, record, setByMs);
  const intent = one.type === "set" ? ({ type: "set", value: one.value } as const) : ({ type: "delete" } as const);
  // Below the version that came out lies the floor of the scope that the script knew.
  const plan = planWrite(old, one, intent, one.write, () => Number(version) - 1);
  if (!("row" in plan) || plan.status !== status)
    throw new Error(`Redis ended a write as ${status}, and its plan as ${plan.status}; this is a defect of the engine`);
  const changes = toldOf(plan.changes, one.write.notice).map(({ change, watchers }, index) => {
    const seq = numbers[index];
    return { ...change, seq: seq === null || seq === undefined ? undefined : Number(seq), watchers };
  });
  return { status: plan.status, item: plan.item, previous: plan.previous, changes, errors: plan.errors };
}

/** Why a write was refused altogether. */
export function refusalOf(reply: WriteReply): CallError {
  if (reply[0] === "overfull") {
    const [, watcher, waiting] = reply;
    return new CallError("overloaded", overfullText(watcher, Number(waiting)), { details: { watcher, waiting: Number(waiting) } });
  }
  if (reply[0] === "too_large") {
    const bytes = Number(reply[1]);
    return new CallError("payload_too_large", manyTooLargeText(bytes), { details: { bytes, limit: MAX_MANY_BYTES } });
  }
  return new CallError("storage_failed", `Redis answered a write with ${reply[0]}; this is a defect of the engine`);
}

export function oneSet(
  scope: string,
  key: string,
  value: { readonly json: string; readonly bytes: number; readonly expiresAt: number | undefined },
  write: ItemWrite,
): OneOfMany {
  return { type: "set", scope, key, value, write };
}
