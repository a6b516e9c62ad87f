import { z } from "zod";
import { functionIdSchema, invocationIdSchema, triggerIdSchema, triggerTypeIdSchema } from "./ids.ts";
import { MAX_TIMEOUT_MS } from "./limits.ts";
import { callerSchema, jobSchema } from "./messages.ts";
import { isUuid } from "./uuid.ts";

/**
 * Versions of the frames between nodes that this build reads, the oldest and the newest. A node talks to a peer if
 * their ranges overlap.
 */
export const NODE_VERSIONS = { min: 1, max: 1 } as const;

const uuid = z.string().refine(isUuid, { message: "must be a UUID" });
const count = z.int().min(0);
const shortText = z.string().max(256);
/** Number of a channel within one pair of runs, chosen by the node that opened it. */
const channelNumber = z.int().min(1);

/** The report of a run about itself. The run sends it to all nodes each second, and to each peer as the first frame. */
export const nodeHelloSchema = z.object({
  run: uuid.meta({ description: "This life of the engine's process" }),
  node: shortText.min(1).meta({ description: "The node: the same for all runs on one data folder" }),
  name: shortText.meta({ description: "The node's name for people" }),
  started_at_ms: z
    .number()
    .meta({ description: "When the run started. The later of two runs of a node is the live one" }),
  versions: z.object({ min: count, max: count }),
  state: z.enum(["up", "draining"]),
  load: count.meta({ description: "Calls in flight at the node" }),
  now_ms: z.number().optional().meta({ description: "The node's clock when it sent this" }),
  clock_state: z
    .enum(["right", "wrong", "unknown"])
    .optional()
    .meta({ description: "What the node knows about its clock. A node with an earlier version does not send it" }),
});
export type NodeHello = z.output<typeof nodeHelloSchema>;

/** Frames between two nodes. "Payload" is the part after the frame's head, which is forwarded without being parsed. */
export const nodeFrameSchemas = {
  /** The first frame to a peer. It is sent again when the state or the load has changed. */
  hello: z.object({ type: z.literal("hello"), hello: nodeHelloSchema }),
  /** Changes of what the sender's workers registered. Payload: JSON that `mirrorChangesSchema` describes. */
  mirror: z.object({ type: z.literal("mirror") }),
  /** Runs a function on a worker of the receiver. Payload: the input. */
  call: z.object({
    type: z.literal("call"),
    id: invocationIdSchema,
    function_id: functionIdSchema,
    timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).meta({ description: "Time left, in milliseconds" }),
    traceparent: z.string().optional(),
    baggage: z.string().optional(),
    metadata: z.string().optional().meta({ description: "JSON text, forwarded without being parsed" }),
    caller: callerSchema.optional(),
    job: jobSchema.optional(),
  }),
  /** The node that got a call has sent it to a worker. So the node that made the call need not keep its payload. */
  accepted: z.object({ type: z.literal("accepted"), id: invocationIdSchema }),
  /**
   * Ends a call. `ok`: the payload is the result, or empty if there is no result. `error`: the payload is the error as
   * JSON. `not_accepted`: the payload is the error as JSON, and no worker was given the call.
   */
  answer: z.object({
    type: z.literal("answer"),
    id: invocationIdSchema,
    outcome: z.enum(["ok", "error", "not_accepted"]),
    traceparent: z.string().optional(),
    baggage: z.string().optional(),
  }),
  /** The caller no longer waits for the call. */
  cancel: z.object({ type: z.literal("cancel"), id: invocationIdSchema, reason: z.string().max(1024) }),
  /** The result of binding a trigger: the sender's worker provides the trigger type, and got the receiver's trigger. */
  bound: z.object({
    type: z.literal("bound"),
    trigger_type: triggerTypeIdSchema,
    id: triggerIdSchema,
    problem: z.string().max(4096).optional(),
  }),
  /** Opens one end of a channel that the receiver manages. */
  open: z.object({
    type: z.literal("open"),
    channel: channelNumber,
    channel_id: shortText,
    access_key: shortText,
    direction: z.enum(["read", "write"]),
  }),
  /** An item of a channel. Payload: its text or bytes. */
  item: z.object({ type: z.literal("item"), channel: channelNumber, kind: z.enum(["text", "binary"]) }),
  /**
   * Permits the node that sends a channel's items to send this many more bytes. It may exceed the total by one item.
   */
  credit: z.object({ type: z.literal("credit"), channel: channelNumber, bytes: z.int().min(1) }),
  /** Ends a channel from either side. Without `reason`, the writer has finished. */
  end: z.object({ type: z.literal("end"), channel: channelNumber, reason: z.string().max(1024).optional() }),
  /** A request of a module to the same module of the receiver. Payload: JSON. */
  ask: z.object({ type: z.literal("ask"), id: uuid, topic: shortText }),
  /** The response to `ask`. Payload: JSON. If `problem` is set, the request failed and there is no payload. */
  tell: z.object({ type: z.literal("tell"), id: uuid, problem: z.string().max(1024).optional() }),
  /** The run ends. Nothing follows. */
  bye: z.object({ type: z.literal("bye") }),
} as const;

export type NodeFrameType = keyof typeof nodeFrameSchemas;
export type NodeFrameOf<Type extends NodeFrameType> = z.output<(typeof nodeFrameSchemas)[Type]>;
export type NodeFrame = { [Type in NodeFrameType]: NodeFrameOf<Type> }[NodeFrameType];

const anyJson = z.unknown().optional();
const text = z.string().max(16_384);
const owned = { worker_id: shortText, id: z.string() };

/** One thing that a node's workers registered. `worker_id` names the worker. */
export const mirrorEntrySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("worker"),
    worker_id: shortText,
    name: text,
    description: text.optional(),
    runtime: text,
    version: text.optional(),
    os: text.optional(),
    pid: z.int().optional(),
    isolation: text.optional(),
    ip_address: text.optional(),
    worker_kind: z.enum(["worker", "cli", "console"]),
    features: z.array(shortText).max(64),
    connected_at_ms: z.number(),
    configured_worker: text.optional(),
  }),
  z.object({
    ...owned,
    kind: z.literal("function"),
    id: functionIdSchema,
    description: z.string().optional(),
    request_format: anyJson,
    response_format: anyJson,
    metadata: anyJson,
    timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).optional(),
  }),
  z.object({
    ...owned,
    kind: z.literal("trigger_type"),
    id: triggerTypeIdSchema,
    description: z.string(),
    trigger_request_format: anyJson,
    call_request_format: anyJson,
  }),
  z.object({
    ...owned,
    kind: z.literal("trigger"),
    id: triggerIdSchema,
    trigger_type: triggerTypeIdSchema,
    function_id: functionIdSchema,
    config: anyJson,
    metadata: anyJson,
    ignores_unknown: z.boolean(),
    is_away: z.boolean().meta({ description: "All workers that registered it are gone and may come back" }),
    served_by: uuid
      .optional()
      .meta({ description: "The run whose worker provides the trigger's type, if not the sender's" }),
  }),
]);
export type MirrorEntry = z.output<typeof mirrorEntrySchema>;

/** Payload of `mirror`. An entry replaces the entry with the same key. */
export const mirrorChangesSchema = z.object({
  set: z.array(z.object({ key: z.string().max(2048), entry: mirrorEntrySchema })),
  removed: z.array(z.string().max(2048)),
});
export type MirrorChanges = z.output<typeof mirrorChangesSchema>;

/**
 * The head of each message between two runs. A session is a stream of messages from one run to another, numbered from
 * 1 on. Each run chooses the number of its own session. A session with a higher number ends the earlier session.
 */
export const nodeMessageHeadSchema = z.object({
  from: uuid.meta({ description: "The sender's run" }),
  session: z.int().min(1).meta({ description: "The sender's session" }),
  peer_session: z.int().min(1).optional().meta({ description: "The receiver's session, if the sender knows it" }),
  n: count.meta({ description: "The message's number in the session; 0: it has no frames and is not acknowledged" }),
  ack: count.meta({ description: "All messages of the receiver's session up to this number arrived" }),
  granted: count.meta({ description: "Bytes of frames that the receiver's session may have in all" }),
  missing: z.literal(true).optional().meta({ description: "A message after `ack` arrived; send again from there" }),
});
export type NodeMessageHead = z.output<typeof nodeMessageHeadSchema>;
