import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { type StoredJson, storedJson } from "../../../items/stored-json.ts";
import { refuseDeepUpdate } from "../../../items/update-depth.ts";
import { RAW_OP_MEMBERS } from "../../../items/update-schema.ts";
import type { ModuleContext } from "../../../kernel/module.ts";
import {
  anyValue,
  deleteInput,
  durability,
  RAW_VALUE_MEMBERS,
  setInput,
  setManyInput,
  updateInput,
} from "../inputs.ts";
import { valueOrNull, writeResult } from "../results.ts";
import { originOf, type StateServices } from "../state-services.ts";
import type { SetRequest } from "../writes.ts";

const version = z.int().min(1);
const opError = z.object({ op_index: z.int(), code: z.string(), message: z.string() });

/** Provides the functions that write items by key. */
export function provideWriteFunctions(context: ModuleContext<unknown>, services: StateServices): void {
  const { writes, clock, limits } = services;

  function expiresAt(inMs: number | undefined): number | undefined {
    return inMs === undefined ? undefined : clock.now() + inMs;
  }

  /** `where` is the path of the item in the payload, e.g. `items.3.`. */
  function setRequest(input: z.output<typeof setInput>, where = ""): SetRequest {
    const { scope, key, value = input.data ?? Payload.null } = input;
    const name = `${where}${input.value === undefined ? "data" : "value"}`;
    return {
      scope,
      key,
      value: toStore(value, name),
      ifVersion: input.if_version,
      expiresAt: expiresAt(input.expires_in_ms),
    };
  }

  function toStore(value: Payload, name: string): StoredJson {
    return storedJson(value, { name, maxBytes: limits.maxValueBytes, limit: "max_value_bytes of svc-state" });
  }

  context.provideFunction({
    id: "state::set",
    summary: "Stores a value; returns the old and the new value and the item's version",
    input: setInput,
    rawMembers: RAW_VALUE_MEMBERS,
    output: z.object({ old_value: anyValue, new_value: anyValue, version, durability }),
    handle: async (input, caller) =>
      writeResult(await writes.set(setRequest(input), originOf(caller)), writes.durability),
  });
  context.provideFunction({
    id: "state::update",
    summary:
      "Applies operations to a value in one step; returns the old and the new value and the operations that failed",
    input: updateInput,
    rawMembers: RAW_OP_MEMBERS,
    output: z.object({
      old_value: anyValue,
      new_value: anyValue,
      version: z.int().min(0),
      errors: z.array(opError).optional(),
      durability,
    }),
    async handle({ scope, key, ops, atomic, if_version: ifVersion, expires_in_ms }, caller) {
      refuseDeepUpdate(ops);
      const request = {
        scope,
        key,
        ops,
        atomic,
        ifVersion,
        maxBytes: limits.maxValueBytes,
        expiresAt: expiresAt(expires_in_ms) ?? ("keep" as const),
      };
      return writeResult(await writes.update(request, originOf(caller)), writes.durability);
    },
  });
  context.provideFunction({
    id: "state::delete",
    summary: "Deletes a key; returns the deleted value, or null",
    input: deleteInput,
    output: anyValue,
    handle: async ({ scope, key, if_version: ifVersion }, caller) =>
      valueOrNull((await writes.delete({ scope, key, ifVersion }, originOf(caller))).previous),
  });
  context.provideFunction({
    id: "state::set_many",
    summary: "Stores several values in one step, all or none",
    input: setManyInput,
    rawMembers: RAW_VALUE_MEMBERS.map((name) => `items[].${name}`),
    output: z.object({ items: z.array(z.object({ scope: z.string(), key: z.string(), version })), durability }),
    async handle({ items }, caller) {
      const requests = items.map((item, index) => setRequest(item, `items.${index}.`));
      const written = await writes.setMany(requests, originOf(caller));
      return {
        items: requests.map(({ scope, key }, index) => ({ scope, key, version: written[index]?.item?.version ?? 0 })),
        ...(writes.durability === "durable" ? {} : { durability: writes.durability }),
      };
    },
  });
}
