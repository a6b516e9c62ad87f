import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../items/item-name.ts";
import { RAW_OP_MEMBERS, updateOpsSchema } from "../../items/update-schema.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import { groupNameProblem, groupNameSchema, streamNameSchema } from "./names.ts";
import type { GroupAddress, ItemAddress } from "./stream-backend.ts";
import type { UserStreams } from "./user-streams.ts";

const DEFAULT_PAGE_ITEMS = 100;
const MAX_PAGE_ITEMS = 1_000;
const TEN_YEARS_MS = 10 * 366 * 24 * 60 * 60 * 1_000;

const streamAddress = { stream_name: streamNameSchema };
const groupAddress = { ...streamAddress, group_id: groupNameSchema };
const itemId = itemNameSchema("Item");
const itemAddress = { ...groupAddress, item_id: itemId };

const ifVersion = z
  .int()
  .min(0)
  .nullish()
  .meta({ description: "Write only if the item has this version; 0: only if the item does not exist" });
const expiresIn = z.int().min(1).max(TEN_YEARS_MS).nullish().meta({
  description:
    "Time until the item expires, in milliseconds, at most ten years. Default: it does not expire; an update keeps the expiry time",
});
const data = z
  .custom<Payload>((value) => value instanceof Payload, { error: "is missing; send null for null" })
  .meta({ description: "Any JSON value" });
const anyValue = z.unknown().meta({ description: "Any JSON value" });
const seq = z
  .int()
  .min(1)
  .optional()
  .meta({ description: "Sequence number of the event in its group; absent if nothing changed" });
const version = z.int().min(0).optional().meta({ description: "Version of the item; absent for hooked streams" });
const durability = z
  .enum(["relaxed", "memory"])
  .optional()
  .meta({ description: "Durability of the write; absent if it is synced to disk" });
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
  .meta({ description: "Type of the event, any name of 1 to 256 bytes", minLength: 1 });

const groupOf = (input: { readonly stream_name: string; readonly group_id: string }): GroupAddress => ({
  stream: input.stream_name,
  group: input.group_id,
});
const itemOf = (input: {
  readonly stream_name: string;
  readonly group_id: string;
  readonly item_id: string;
}): ItemAddress => ({
  ...groupOf(input),
  id: input.item_id,
});

/**
 * Provides `stream::*`. Inputs are strict, because a mistyped `if_version` would turn a compare-and-set into an
 * overwrite.
 */
export function provideStreamFunctions(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  streams: UserStreams,
): void {
  provideFunction({
    id: "stream::set",
    summary:
      "Stores an item and notifies subscribers; returns the old and the new data, the item's version and the event's sequence number",
    input: z.strictObject({ ...itemAddress, data, if_version: ifVersion, expires_in_ms: expiresIn }),
    rawMembers: ["data"],
    output: z.object({ old_value: anyValue, new_value: anyValue, version, seq, durability }),
    handle(input, context) {
      const choices = { ifVersion: input.if_version ?? undefined, expiresInMs: input.expires_in_ms ?? undefined };
      return streams.backendOf(input.stream_name).set(itemOf(input), input.data, choices, context);
    },
  });
  provideFunction({
    id: "stream::get",
    summary: "Returns the data of an item, or null",
    input: z.strictObject(itemAddress),
    output: anyValue,
    handle: (input, context) => streams.backendOf(input.stream_name).get(itemOf(input), context),
  });
  provideFunction({
    id: "stream::get_entry",
    summary: "Returns an item with its version, or null",
    input: z.strictObject(itemAddress),
    output: entry.nullable(),
    handle: (input) => streams.backendOf(input.stream_name).getEntry(itemOf(input)),
  });
  provideFunction({
    id: "stream::update",
    summary: "Applies operations to an item, all or none, and notifies subscribers",
    rawMembers: RAW_OP_MEMBERS,
    input: z.strictObject({
      ...itemAddress,
      ops: updateOpsSchema,
      atomic: z.boolean().nullish(),
      if_version: ifVersion,
      expires_in_ms: expiresIn,
    }),
    output: z.object({
      old_value: anyValue,
      new_value: anyValue,
      version,
      seq,
      durability,
      errors: z.array(opError).optional(),
    }),
    handle(input, context) {
      const choices = { ifVersion: input.if_version ?? undefined, expiresInMs: input.expires_in_ms ?? undefined };
      const update = { ops: input.ops, atomic: input.atomic ?? true, ...choices };
      return streams.backendOf(input.stream_name).update(itemOf(input), update, context);
    },
  });
  provideFunction({
    id: "stream::delete",
    summary: "Deletes an item and notifies subscribers; returns the deleted data, or null",
    input: z.strictObject({ ...itemAddress, if_version: ifVersion }),
    output: z.object({ old_value: anyValue, seq, durability }),
    handle: (input, context) =>
      streams.backendOf(input.stream_name).delete(itemOf(input), { ifVersion: input.if_version ?? undefined }, context),
  });
  provideFunction({
    id: "stream::list",
    summary: "Returns the data of all items of a group, sorted by id",
    input: z.strictObject(groupAddress),
    output: z.array(anyValue),
    handle: (input, context) => streams.backendOf(input.stream_name).list(groupOf(input), context),
  });
  provideFunction({
    id: "stream::entries",
    summary: "Returns a page of a group's items with ids and versions, sorted by id",
    input: z.strictObject({
      ...groupAddress,
      prefix: prefixSchema.nullish(),
      cursor: z.string().nullish().meta({ description: "`cursor` of the previous page" }),
      limit: z
        .int()
        .min(1)
        .max(MAX_PAGE_ITEMS)
        .nullish()
        .meta({ description: "Maximum number of items in the page; 1 to 1,000, default 100" }),
    }),
    output: z.object({ items: z.array(entry), cursor: z.string().nullable(), total: z.int().min(0) }),
    handle(input) {
      const page = {
        prefix: input.prefix ?? "",
        cursor: input.cursor ?? undefined,
        limit: input.limit ?? DEFAULT_PAGE_ITEMS,
      };
      return streams.backendOf(input.stream_name).entries(groupOf(input), page);
    },
  });
  provideFunction({
    id: "stream::list_groups",
    summary: "Returns the groups of a stream that contain items, sorted",
    input: z.strictObject(streamAddress),
    output: z.array(z.string()),
    handle: (input, context) => streams.backendOf(input.stream_name).listGroups(input.stream_name, context),
  });
  provideFunction({
    id: "stream::list_all",
    summary: "Returns all streams that contain items, with their groups",
    input: z.strictObject({}),
    output: z.object({ stream: z.array(z.object({ id: z.string(), groups: z.array(z.string()) })), count: z.int() }),
    handle: () => streams.listAll(),
  });
  provideFunction({
    id: "stream::send",
    summary: "Sends an event to the subscribers of a group; it is not stored",
    input: z.strictObject({
      ...groupAddress,
      id: itemId.nullish().meta({
        description: "The item of the event; without it, only subscribers of the whole group receive the event",
      }),
      type: eventType,
      data: data.optional(),
    }),
    rawMembers: ["data"],
    handle(input, context) {
      streams.send(
        groupOf(input),
        { id: input.id ?? null, type: input.type, data: input.data ?? Payload.null },
        context,
      );
      return Payload.null;
    },
  });
}
