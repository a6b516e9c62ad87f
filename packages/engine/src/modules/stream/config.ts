import { functionIdSchema } from "@svc/protocol";
import { z } from "zod";
import { tlsBlockSchema } from "../../config/tls-block.ts";
import { type AdapterConfig, adapterConfigSchema } from "../../items/adapter-config.ts";

/** Largest item, in bytes of its JSON, unless the config says otherwise: 1 MiB, which is as much as may wait for one client. */
const DEFAULT_MAX_VALUE_BYTES = 1024 * 1024;
/** An answer of at most 16 MiB holds an item together with the one that it replaced. */
const HIGHEST_MAX_VALUE_BYTES = 7 * 1024 * 1024;
const DEFAULT_JOIN_TIMEOUT_MS = 5_000;
const LONGEST_JOIN_TIMEOUT_MS = 60_000;
const MAX_PATTERNS = 1_000;

const streamPatterns = z
  .array(z.string().regex(/^[^*]+\*?$|^\*$/, { error: 'expected the name of a stream, or how names begin: "cursors", "live-*"' }))
  .max(MAX_PATTERNS)
  .default([]);

/** The `config` of an `svc-stream` entry; `port`, `host` and `tls` are read by the engine, which owns the listener. */
export const streamConfigSchema = z
  .strictObject({
    port: z.int().min(0).max(65_535).optional().meta({ description: "Port of the engine's real-time listener; 0 picks a free one. Default 3112" }),
    host: z.string().min(1).optional().meta({ description: "Address that the listener binds. Default 127.0.0.1" }),
    tls: tlsBlockSchema.optional().meta({ description: "Serve wss. Default none" }),
    adapter: adapterConfigSchema({ file: "stream.db" }),
    memory_streams: streamPatterns.meta({
      description: 'Streams whose items are kept in memory, whatever the adapter: names, or beginnings with * ("live-*"). Default none',
    }),
    hooked_streams: streamPatterns.meta({
      description:
        "Streams whose items functions of workers keep: without these functions calls fail, also before a worker has come: names, or beginnings with *. Default none; one with such a function counts from when it is registered",
    }),
    guarded_streams: streamPatterns.meta({
      description: "Streams that nobody may join while no stream:join trigger is there for them: names, or beginnings with *. Default none",
    }),
    auth_function: functionIdSchema.nullish().meta({
      description: "Function that decides who may connect: gets {headers, path, query_params, addr}, answers {context, system_streams?}. Default: everyone",
    }),
    join_timeout_ms: z
      .int()
      .min(1)
      .max(LONGEST_JOIN_TIMEOUT_MS)
      .default(DEFAULT_JOIN_TIMEOUT_MS)
      .meta({ description: "How long a stream:join trigger may take, in milliseconds; then the join is refused. Default 5,000" }),
    max_value_bytes: z
      .int()
      .min(1)
      .max(HIGHEST_MAX_VALUE_BYTES)
      .default(DEFAULT_MAX_VALUE_BYTES)
      .meta({ description: "Largest item or event, in bytes of its JSON. Default 1 MiB, at most 7 MiB" }),
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
