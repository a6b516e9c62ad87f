import { Payload } from "@svc/protocol";
import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../items/item-name.ts";
import { RAW_OP_MEMBERS, updateOpsSchema } from "../../items/update-schema.ts";
import type { HandlerContext, ModuleContext } from "../../kernel/module.ts";
import type { Cause, GroupAddress, ItemAddress } from "./keeper.ts";
import { groupNameProblem, groupNameSchema, streamNameSchema } from "./names.ts";
import type { UserStreams } from "./user-streams.ts";

const DEFAULT_PAGE_ITEMS = 100;
const MAX_PAGE_ITEMS = 1_000;
const TEN_YEARS_MS = 10 * 366 * 24 * 60 * 60 * 1_000;

const streamAddress = { stream_name: streamNameSchema };
const groupAddress = { ...streamAddress, group_id: groupNameSchema };
const itemId = itemNameSchema("Item");
const itemAddress = { ...groupAddress, item_id: itemId };

const ifVersion = z.int().min(0).nullish().meta({ description: "Write only if the item has this version; 0: only if there is no such item" });
const expiresIn = z
  .int()
  .min(1)
  .max(TEN_YEARS_MS)
  .nullish()
  .meta({ description: "Milliseconds from now until the item is deleted by itself, at most ten years. Default: it stays; an update leaves it as it is" });
const data = z.custom<Payload>((value) => value instanceof Payload, { error: "is missing; send null for null" }).meta({ description: "Any JSON value" });
const anyValue = z.unknown().meta({ description: "Any JSON value" });
const seq = z.int().min(1).optional().meta({ description: "Number of the event in its group; absent when nothing has changed" });
const version = z.int().min(0).optional().meta({ description: "Of the item; absent where functions of a worker keep it" });
const durability = z.enum(["relaxed", "memory"]).optional().meta({ description: "Absent: the write is on the disk" });
const opError = z.object({ op_index: z.int(), code: z.string(), message: z.string() });
const entry = z.object({
  item_id: z.string(),
  value: anyValue,
  version: z.int().min(1),
  updated_at: z.iso.datetime(),
  bytes: z.int().min(1),
  expires_at: z.iso.datetime().optional(),
});

const eventType = z
  .string()
  .superRefine((type, context) => {
    const problem = groupNameProblem(type);
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ description: "Type of the event, in your own words: 1 to 256 bytes", minLength: 1 });

const groupOf = (input: { readonly stream_name: string; readonly group_id: string }): GroupAddress => ({ stream: input.stream_name, group: input.group_id });
const itemOf = (input: { readonly stream_name: string; readonly group_id: string; readonly item_id: string }): ItemAddress => ({
  ...groupOf(input),
  id: input.item_id,
});
const causeOf = ({ traceparent, baggage, signal }: HandlerContext): Cause => ({ traceparent, baggage, signal });

/** Makes `stream::*` callable. Inputs are strict: a mistyped `if_version` would make of a compare-and-set an overwrite. */
export function provideStreamFunctions({ provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">, streams: UserStreams): void {
  provideFunction({
    id: "stream::set",
    summary: "Stores an item and tells everyone who has joined; answers the old data, the new data, the item's version and the event's number",
    input: z.strictObject({ ...itemAddress, data, if_version: ifVersion, expires_in_ms: expiresIn }),
    rawMembers: ["data"],
    output: z.object({ old_value: anyValue, new_value: anyValue, version, seq, durability }),
    handle(input, context) {
      const choices = { ifVersion: input.if_version ?? undefined, expiresInMs: input.expires_in_ms ?? undefined };
      return streams.keeperOf(input.stream_name).set(itemOf(input), input.data, choices, causeOf(context));
    },
  });
  provideFunction({
    id: "stream::get",
    summary: "The data of an item, or null",
    input: z.strictObject(itemAddress),
    output: anyValue,
    handle: (input, context) => streams.keeperOf(input.stream_name).get(itemOf(input), causeOf(context)),
  });
  provideFunction({
    id: "stream::get_entry",
    summary: "One item with its version, or null",
    input: z.strictObject(itemAddress),
    output: entry.nullable(),
    handle: (input) => streams.keeperOf(input.stream_name).getEntry(itemOf(input)),
  });
  provideFunction({
    id: "stream::update",
    summary: "Changes an item by operations, all or none, and tells everyone who has joined",
    rawMembers: RAW_OP_MEMBERS,
    input: z.strictObject({ ...itemAddress, ops: updateOpsSchema, atomic: z.boolean().nullish(), if_version: ifVersion, expires_in_ms: expiresIn }),
    output: z.object({ old_value: anyValue, new_value: anyValue, version, seq, durability, errors: z.array(opError).optional() }),
    handle(input, context) {
      const choices = { ifVersion: input.if_version ?? undefined, expiresInMs: input.expires_in_ms ?? undefined };
      const update = { ops: input.ops, atomic: input.atomic ?? true, ...choices };
      return streams.keeperOf(input.stream_name).update(itemOf(input), update, causeOf(context));
    },
  });
  provideFunction({
    id: "stream::delete",
    summary: "Removes an item and tells everyone who has joined; answers the data that was there, or null",
    input: z.strictObject({ ...itemAddress, if_version: ifVersion }),
    output: z.object({ old_value: anyValue, seq, durability }),
    handle: (input, context) => streams.keeperOf(input.stream_name).delete(itemOf(input), { ifVersion: input.if_version ?? undefined }, causeOf(context)),
  });
  provideFunction({
    id: "stream::list",
    summary: "The data of all items of a group, in the order of their ids",
    input: z.strictObject(groupAddress),
    output: z.array(anyValue),
    handle: (input, context) => streams.keeperOf(input.stream_name).list(groupOf(input), causeOf(context)),
  });
  provideFunction({
    id: "stream::entries",
    summary: "A page of a group's items with ids and versions, in the order of their ids",
    input: z.strictObject({
      ...groupAddress,
      prefix: prefixSchema.nullish(),
      cursor: z.string().nullish().meta({ description: "Where to go on: `cursor` of the page before" }),
      limit: z.int().min(1).max(MAX_PAGE_ITEMS).nullish().meta({ description: "Most items of the page; 1 to 1,000, default 100" }),
    }),
    output: z.object({ items: z.array(entry), cursor: z.string().nullable(), total: z.int().min(0) }),
    handle(input) {
      const page = { prefix: input.prefix ?? "", cursor: input.cursor ?? undefined, limit: input.limit ?? DEFAULT_PAGE_ITEMS };
      return streams.keeperOf(input.stream_name).entries(groupOf(input), page);
    },
  });
  provideFunction({
    id: "stream::list_groups",
    summary: "The groups of a stream that hold something, in order",
    input: z.strictObject(streamAddress),
    output: z.array(z.string()),
    handle: (input, context) => streams.keeperOf(input.stream_name).listGroups(input.stream_name, causeOf(context)),
  });
  provideFunction({
    id: "stream::list_all",
    summary: "All streams that hold something, with their groups",
    input: z.strictObject({}),
    output: z.object({ stream: z.array(z.object({ id: z.string(), groups: z.array(z.string()) })), count: z.int() }),
    handle: () => streams.listAll(),
  });
  provideFunction({
    id: "stream::send",
    summary: "Sends an event to everyone who has joined a group; it is not stored",
    input: z.strictObject({
      ...groupAddress,
      id: itemId.nullish().meta({ description: "The item that it is about; without it only those get it who have joined the group" }),
      type: eventType,
      data: data.optional(),
    }),
    rawMembers: ["data"],
    handle(input, context) {
      streams.send(groupOf(input), { id: input.id ?? null, type: input.type, data: input.data ?? Payload.null }, causeOf(context));
      return Payload.null;
    },
  });
}
