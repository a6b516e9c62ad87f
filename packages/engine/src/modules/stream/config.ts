import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { tlsBlockSchema } from "../../config/blocks/tls-block.ts";
import { type AdapterConfig, adapterConfigSchema } from "../../items/adapter-config.ts";

/** Default maximum size of an item's JSON, in bytes: 1 MiB, the size of a client's buffer. */
const DEFAULT_MAX_VALUE_BYTES = 1024 * 1024;
/** Highest value of `max_value_bytes`: a response has at most 16 MiB and contains the new and the old item. */
const HIGHEST_MAX_VALUE_BYTES = 7 * 1024 * 1024;
const DEFAULT_JOIN_TIMEOUT_MS = 5_000;
const LONGEST_JOIN_TIMEOUT_MS = 60_000;
const MAX_PATTERNS = 1_000;

const streamPatterns = z
  .array(
    z
      .string()
      .regex(/^[^*]+\*?$|^\*$/, { error: 'expected the name of a stream or a prefix with *: "cursors", "live-*"' }),
  )
  .max(MAX_PATTERNS)
  .default([]);

/**
 * Schema of the `config` of an `svc-stream` entry. The engine reads `port`, `host` and `tls`, because it owns the
 * listener.
 */
export const streamConfigSchema = z
  .strictObject({
    port: z
      .int()
      .min(0)
      .max(65_535)
      .optional()
      .meta({ description: "Port of the engine's real-time listener; 0 picks a free one. Default 3112" }),
    host: z.string().min(1).optional().meta({ description: "Address that the listener binds. Default 127.0.0.1" }),
    tls: tlsBlockSchema.optional().meta({ description: "Serve wss. Default none" }),
    adapter: adapterConfigSchema({ file: "stream.db" }),
    memory_streams: streamPatterns.meta({
      description:
        'Streams whose items are stored in memory instead of the adapter: names, or prefixes with * ("live-*"). Default none',
    }),
    hooked_streams: streamPatterns.meta({
      description:
        "Streams whose items are stored by functions of workers: names, or prefixes with *. Calls fail while these functions are not registered. Default none; a stream is also hooked as soon as such a function is registered",
    }),
    guarded_streams: streamPatterns.meta({
      description:
        "Streams that reject joins while they have no stream:join trigger: names, or prefixes with *. Default none",
    }),
    auth_function: functionIdSchema.nullish().meta({
      description:
        "Function that authenticates clients: receives {headers, path, query_params, addr}, returns {context, system_streams?}. Default: none, every client is accepted",
    }),
    join_timeout_ms: z.int().min(1).max(LONGEST_JOIN_TIMEOUT_MS).default(DEFAULT_JOIN_TIMEOUT_MS).meta({
      description: "Timeout of a stream:join trigger, in milliseconds; then the join is rejected. Default 5,000",
    }),
    max_value_bytes: z
      .int()
      .min(1)
      .max(HIGHEST_MAX_VALUE_BYTES)
      .default(DEFAULT_MAX_VALUE_BYTES)
      .meta({ description: "Maximum size of an item's or event's JSON, in bytes. Default 1 MiB, at most 7 MiB" }),
  })
  .transform((block) => ({
    adapter: block.adapter as AdapterConfig,
    guardedStreams: block.guarded_streams as readonly string[],
    hookedStreams: block.hooked_streams as readonly string[],
    memoryStreams: block.memory_streams as readonly string[],
    authFunction: block.auth_function ?? undefined,
    joinTimeoutMs: block.join_timeout_ms,
    maxValueBytes: block.max_value_bytes,
  }));

export type StreamConfig = z.output<typeof streamConfigSchema>;
