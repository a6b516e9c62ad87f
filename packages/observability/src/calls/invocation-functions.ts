import type { CallerAccess, ModuleContext } from "@svc/engine/module";
import type { SecretMask } from "@svc/protocol";
import { z } from "zod";
import { type SeesCall, seesCall } from "../query/sees-call.ts";
import type { InvocationHistory } from "./history.ts";

const text = z.string().max(256);

export const invocationsQuerySchema = () =>
  z.object({
    function_id: text.nullish(),
    status: z.enum(["ok", "error", "pending", "cancelled", "timeout"]).nullish(),
    source: text.nullish().meta({ description: "call, http, cron, event, queue, state, stream, console, cli, engine" }),
    worker: text.nullish().meta({ description: "Name or id of the worker that ran it" }),
    caller: text.nullish().meta({ description: "Name or id of the worker that called" }),
    trace_id: text.nullish(),
    start_time: z.number().nullish().meta({ description: "Milliseconds since 1970: begun then or later" }),
    end_time: z.number().nullish().meta({ description: "Milliseconds since 1970: begun then or earlier" }),
    include_internal: z.boolean().nullish(),
    cursor: text.nullish(),
    limit: z.int().min(1).max(1_000).nullish(),
  });
export type InvocationsQuery = z.infer<ReturnType<typeof invocationsQuerySchema>>;

/** `engine::invocations::*`. A restricted caller sees only calls of functions that it may call. */
export function provideInvocations(
  { provideFunction }: Pick<ModuleContext<unknown>, "provideFunction">,
  parts: { readonly history: InvocationHistory; readonly redactor: () => SecretMask },
): void {
  const queries = () => import("./invocation-queries.ts");
  provideFunction({
    id: "engine::invocations::list",
    summary: "The last calls, newest first",
    input: invocationsQuerySchema,
    handle: async (query, { access }) => (await queries()).listInvocations(parts.history, query, seen(access)),
  });
  provideFunction({
    id: "engine::invocations::get",
    summary: "One call with its input, its output or its error; null if it is not found",
    input: () => z.object({ invocation_id: text }),
    handle: async ({ invocation_id }, { access }) =>
      (await queries()).getInvocation(parts.history, invocation_id, seen(access), parts.redactor()),
  });
}

function seen(access: CallerAccess | undefined): SeesCall {
  return access === undefined ? () => true : seesCall(access);
}
