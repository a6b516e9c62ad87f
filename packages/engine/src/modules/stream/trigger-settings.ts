import { CallError, functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { Quota, type TriggerBinding } from "../../kernel/module.ts";

const condition = functionIdSchema.nullish().meta({
  description: "Function that is called first with the same payload; if it returns false, the event is skipped",
});
const nameFilter = (description: string) => z.string().min(1).nullish().meta({ description });

/** Config of a `stream` trigger. Strict, because a mistyped filter would match everything. */
export const itemTriggerSettings = z.strictObject({
  stream_name: nameFilter("Only events of this stream. Default any"),
  group_id: nameFilter("Only events of this group. Default any"),
  item_id: nameFilter("Only events of this item. Default any, and events of the whole group"),
  condition_function_id: condition,
});
export type ItemTriggerSettings = z.output<typeof itemTriggerSettings>;

/** Config of a `stream:join` or `stream:leave` trigger. */
export const clientTriggerSettings = z.strictObject({
  stream_name: nameFilter("Only this stream. Default any"),
  group_id: nameFilter("Only this group. Default any"),
  condition_function_id: condition,
});
export type ClientTriggerSettings = z.output<typeof clientTriggerSettings>;

/** Function whose permission a stream trigger requires, because its events contain the same data. */
const READS_ITEMS = "stream::get";

/** Throws `FORBIDDEN` if all owners of the trigger are restricted connections without the right to read items. */
export function refuseWithoutRights(binding: Pick<TriggerBinding<unknown>, "callRefusal">): void {
  const refusal = binding.callRefusal(READS_ITEMS);
  if (refusal === undefined) return;
  throw new CallError(
    "FORBIDDEN",
    `a stream trigger requires the permission to call ${READS_ITEMS}: ${refusal.message}`,
  );
}

/** Shows the trigger as inactive while its condition function is not registered. */
export function needCondition(
  binding: TriggerBinding<{ readonly condition_function_id?: string | null | undefined }>,
): void {
  const id = binding.settings.condition_function_id;
  if (id !== null && id !== undefined) binding.needs([id]);
}

/** True if the filter is empty or equal to the name. */
export function matchesFilter(filter: string | null | undefined, name: string | null | undefined): boolean {
  return filter === null || filter === undefined || filter === name;
}
/** Maximum size of pending events per trigger, in bytes. */
export const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * Limits the pending bytes of all triggers of restricted principals together. Triggers of trusted principals each have
 * `MAX_WAITING_BYTES`.
 */
export function waitingBytesQuota(): Quota {
  return new Quota("bytes of waiting events", { each: MAX_WAITING_BYTES / 4, restricted: 2 * MAX_WAITING_BYTES });
}
