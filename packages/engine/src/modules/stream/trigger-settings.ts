import { CallError, functionIdSchema } from "@svc/protocol";
import { z } from "zod";
import type { TriggerBinding } from "../../kernel/module.ts";

const condition = functionIdSchema
  .nullish()
  .meta({ description: "Function that is asked first, with what the function would get; when it answers false nothing is called" });
const nameFilter = (description: string) => z.string().min(1).nullish().meta({ description });

/** Config of a `stream` trigger. Strict: a filter that was mistyped would let everything through. */
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

/** Who is told of items, or decides who may be told, may read them. */
const READS_ITEMS = "stream::get";

/** Throws `FORBIDDEN` when only restricted connections ask for the trigger and none of them may read items. */
export function refuseWithoutRights(binding: Pick<TriggerBinding<unknown>, "callRefusal">): void {
  const refusal = binding.callRefusal(READS_ITEMS);
  if (refusal === undefined) return;
  throw new CallError("FORBIDDEN", `triggers on streams are for who may call ${READS_ITEMS}, which this connection may not: ${refusal.message}`);
}

/** While the condition is not there the trigger is shown as inactive. */
export function needCondition(binding: TriggerBinding<{ readonly condition_function_id?: string | null | undefined }>): void {
  const id = binding.settings.condition_function_id;
  if (id !== null && id !== undefined) binding.needs([id]);
}

/** Whether a filter lets a name through. */
export function lets(filter: string | null | undefined, name: string | null | undefined): boolean {
  return filter === null || filter === undefined || filter === name;
}
