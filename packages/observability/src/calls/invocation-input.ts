import { z } from "zod";

export const text = z.string().max(256);

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
    cursor: z.string().max(2_048).nullish(),
    limit: z.int().min(1).max(1_000).nullish(),
  });

export const errorsQuerySchema = () =>
  z.object({
    start_time: z.number().nullish().meta({ description: "Milliseconds since 1970: begun then or later" }),
    end_time: z.number().nullish().meta({ description: "Milliseconds since 1970: begun then or earlier" }),
    limit: z.int().min(1).max(1_000).nullish(),
    buckets: z.int().min(1).max(200).nullish().meta({
      description: "Also counts the calls of each cause in this many equal parts of the time since start_time",
    }),
  });
export type ErrorsQuery = z.infer<ReturnType<typeof errorsQuerySchema>>;
export type InvocationsQuery = z.infer<ReturnType<typeof invocationsQuerySchema>>;
