import { z } from "zod";
import { nameProblem } from "./name-problem.ts";
import { isUuid } from "./uuid.ts";

type Branded<Name extends string> = string & { readonly __brand: Name };

/** Name of a function: `namespace::name` or a dotted path. 1 to 256 bytes of UTF-8, no control characters. */
export type FunctionId = Branded<"FunctionId">;
/** Assigned by the engine to each connection. A UUID, new on every connect. */
export type WorkerId = Branded<"WorkerId">;
/** A UUID created by the caller. The same id identifies the call on the caller's and on the callee's connection. */
export type InvocationId = Branded<"InvocationId">;
/** A UUID created by the worker that registers the trigger. Stays the same over reconnects. */
export type TriggerId = Branded<"TriggerId">;
/** `http`, `cron`, `state`, or a type that a worker provides. Same rule as function ids. */
export type TriggerTypeId = Branded<"TriggerTypeId">;

function nameSchema<Name extends string>(what: string, description: string) {
  return z
    .string()
    .min(1)
    .meta({ description })
    .superRefine((name, context) => {
      const problem = nameProblem(name, what);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .transform((name) => name as Branded<Name>);
}

export const functionIdSchema = nameSchema<"FunctionId">("function id", "Function id, e.g. `math::add`");
export const triggerIdSchema = nameSchema<"TriggerId">("trigger id", "Trigger id, a UUID made by the worker");
export const triggerTypeIdSchema = nameSchema<"TriggerTypeId">("trigger type", "Trigger type, e.g. `http`");

export const invocationIdSchema = z
  .string()
  .refine(isUuid, { message: "invocation_id must be a UUID" })
  .meta({ description: "Invocation id, a UUID made by the caller" })
  .transform((id) => id as InvocationId);
