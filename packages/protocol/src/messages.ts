import { z } from "zod";
import { functionIdSchema, invocationIdSchema, triggerIdSchema, triggerTypeIdSchema } from "./ids.ts";
import { MAX_TIMEOUT_MS } from "./limits.ts";
import { Payload } from "./payload.ts";

/** Schema of an optional member. In these messages, a member that is null means the same as an absent member. */
function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | undefined => value ?? undefined);
}

const anyJson = z.unknown().optional();
const payload = z.custom<Payload>((value) => value instanceof Payload);
/** JSON Schema of a payload: any value. Payloads are forwarded without parsing. */
const payloadSlot = payload.meta({ description: "Any JSON value; forwarded without being parsed" });
const optionalPayload = payload.optional().meta({ description: "Any JSON value; forwarded without being parsed" });

export const wireErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  stacktrace: optional(z.string()),
  details: optional(z.record(z.string(), z.unknown())),
});

export const callerSchema = z.object({ worker_id: z.string(), name: z.string() });
/** The caller of a call, as identified by the engine. */
export type Caller = z.output<typeof callerSchema>;

export const jobSchema = z.object({ queue: z.string(), id: z.string(), attempt: z.number().int().min(1) });
/** The queued job that a call runs. `attempt` starts at 1. */
export type Job = z.output<typeof jobSchema>;

const timeoutMs = z.number().int().min(1).max(MAX_TIMEOUT_MS).meta({ description: "Deadline in milliseconds" });

export const actionSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("void") }),
  z.object({ type: z.literal("enqueue"), queue: z.string().min(1).max(256) }),
]);
export type Action = z.output<typeof actionSchema>;

/**
 * Settings of a function that is called over HTTP. Only the module that calls the function reads the members besides
 * `url`.
 */
const httpInvocationSchema = z.looseObject({ url: z.string() });

export const messageSchemas = {
  workerregistered: z.object({
    type: z.literal("workerregistered"),
    worker_id: z.string().meta({ description: "UUID of this connection" }),
    reattach_token: optional(z.string()),
    engine: optional(z.object({ version: z.string(), instance_id: z.string() })),
  }),
  registerfunction: z.object({
    type: z.literal("registerfunction"),
    id: functionIdSchema,
    description: optional(z.string()),
    request_format: optional(anyJson),
    response_format: optional(anyJson),
    metadata: optional(anyJson),
    invocation: optional(httpInvocationSchema),
    timeout_ms: optional(timeoutMs),
    validate: optional(z.boolean()).meta({
      description: "Whether the engine checks payloads by request_format; default: engine.validate_requests",
    }),
  }),
  unregisterfunction: z.object({ type: z.literal("unregisterfunction"), id: functionIdSchema }),
  invokefunction: z.object({
    type: z.literal("invokefunction"),
    invocation_id: optional(invocationIdSchema),
    function_id: functionIdSchema,
    data: payloadSlot,
    traceparent: optional(z.string()),
    baggage: optional(z.string()),
    action: optional(actionSchema),
    metadata: optionalPayload,
    timeout_ms: optional(timeoutMs),
    caller: optional(callerSchema),
    job: optional(jobSchema),
  }),
  invocationresult: z.object({
    type: z.literal("invocationresult"),
    invocation_id: invocationIdSchema,
    function_id: z.string(),
    result: optionalPayload,
    error: optional(wireErrorSchema),
    traceparent: optional(z.string()),
    baggage: optional(z.string()),
  }),
  cancelinvocation: z.object({
    type: z.literal("cancelinvocation"),
    invocation_id: invocationIdSchema,
    reason: optional(z.string()),
  }),
  registertriggertype: z.object({
    type: z.literal("registertriggertype"),
    id: triggerTypeIdSchema,
    description: z.string(),
    trigger_request_format: optional(anyJson),
    call_request_format: optional(anyJson),
    validate: optional(z.boolean()).meta({
      description: "Whether the engine checks the config of triggers by trigger_request_format; default false",
    }),
  }),
  unregistertriggertype: z.object({ type: z.literal("unregistertriggertype"), id: triggerTypeIdSchema }),
  registertrigger: z.object({
    type: z.literal("registertrigger"),
    id: triggerIdSchema,
    trigger_type: triggerTypeIdSchema,
    function_id: functionIdSchema,
    config: anyJson.meta({ description: "Absent counts as null: the published Python client omits it" }),
    metadata: optional(anyJson),
  }),
  unregistertrigger: z.object({
    type: z.literal("unregistertrigger"),
    id: triggerIdSchema,
    trigger_type: optional(z.string()),
  }),
  triggerregistrationresult: z.object({
    type: z.literal("triggerregistrationresult"),
    id: triggerIdSchema,
    trigger_type: z.string(),
    function_id: z.string(),
    error: optional(wireErrorSchema),
    status: optional(z.enum(["active", "inactive", "error"])),
    reason: optional(z.string()),
  }),
  registerservice: z.object({ type: z.literal("registerservice"), id: z.string() }),
  reattach: z.object({
    type: z.literal("reattach"),
    previous_worker_id: z.string(),
    reattach_token: optional(z.string()),
  }),
  draining: z.object({
    type: z.literal("draining"),
    within_ms: optional(z.int().min(0)).meta({
      description:
        "Set by an engine that is cut off from its cluster: leave when no call is in flight, and this many milliseconds after the first such message in any case",
    }),
  }),
  ping: z.object({ type: z.literal("ping") }),
  pong: z.object({ type: z.literal("pong") }),
  error: z.object({ type: z.literal("error"), error: wireErrorSchema }),
} as const;

export type MessageType = keyof typeof messageSchemas;
export type MessageOf<Type extends MessageType> = z.output<(typeof messageSchemas)[Type]>;
export type Message = { [Type in MessageType]: MessageOf<Type> }[MessageType];

/** Payload of `engine::workers::register`, with which a worker introduces itself after each connect. */
export const workerIntroductionSchema = z.object({
  runtime: optional(z.string().max(256)),
  version: optional(z.string().max(256)),
  name: optional(z.string().max(4096)),
  description: optional(z.string().max(16_384)),
  os: optional(z.string().max(1024)),
  pid: optional(z.number().int()),
  isolation: optional(z.string().max(256)),
  /** Kind of process. Only `worker` counts as an active worker process. */
  kind: optional(z.enum(["worker", "cli", "console"])),
  features: optional(z.array(z.string().max(64)).max(64)),
});
export type WorkerIntroduction = z.output<typeof workerIntroductionSchema>;
