import { parse } from "node:path";
import { z } from "zod";

const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
const DEFAULT_MEMORY_BYTES = 512 * 1024 * 1024;
const DEFAULT_REDIS_URL = "redis://localhost:6379";
const DEFAULT_KEY_PREFIX = "svc:";
const MAX_BYTES = 1024 ** 4;

const bytes = () => z.int().min(0).max(MAX_BYTES);

const inMemory = z.strictObject({
  name: z.literal("in_memory"),
  config: z
    .strictObject({
      max_bytes: bytes().default(DEFAULT_MEMORY_BYTES).meta({
        description:
          "Maximum size of keys, values and pending deliveries, in bytes; writes above it fail. Default 512 MiB",
      }),
    })
    .prefault({}),
});

/** Settings that differ between the modules that store items. */
export interface AdapterDefaults {
  /**
   * Name of the database file, e.g. `state.db`. Without its extension it is also the key prefix of the module in Redis.
   */
  readonly file: string;
}

/**
 * Returns the schema of a module's `adapter`: `{name: file_based | in_memory | redis | cluster, config}`. Default `file_based`.
 * Accepts `kv` with `store_method` of older configs.
 */
export function adapterConfigSchema(defaults: AdapterDefaults) {
  const space = parse(defaults.file).name;
  const filePath = z
    .string()
    .min(1)
    .meta({
      description: `Database file, relative to the data folder. Its folder is created if it is missing. Default ${defaults.file}`,
    });
  const fileBased = z.strictObject({
    name: z.literal("file_based"),
    config: z
      .strictObject({
        file_path: filePath.default(defaults.file),
        cache_bytes: bytes()
          .default(DEFAULT_CACHE_BYTES)
          .meta({ description: "Size of the read cache, in bytes. Default 64 MiB; 0 disables it" }),
        local: z.boolean().optional().meta({
          description:
            "In a cluster: true keeps the data at this engine, apart from those of the others. Default false",
        }),
        durability: z.enum(["durable", "relaxed"]).default("durable").meta({
          description:
            "durable (default): a write is synced to disk before it is acknowledged. relaxed: acknowledged writes survive a crash of the process, but a power cut may lose the last second",
        }),
      })
      .prefault({}),
  });
  const redis = z.strictObject({
    name: z.literal("redis"),
    config: z
      .strictObject({
        redis_url: z
          .url({ protocol: /^rediss?$/, error: "must be a URL that starts with redis:// or rediss://" })
          .default(DEFAULT_REDIS_URL)
          .meta({
            description: `URL of the server, with user and password if required; rediss:// for TLS. Default ${DEFAULT_REDIS_URL}`,
          }),
        key_prefix: z
          .string()
          .max(256)
          .default(DEFAULT_KEY_PREFIX)
          .meta({
            description: `Prefix of all keys, followed by \`${space}:\`. Engines with the same prefix share their items. Default ${DEFAULT_KEY_PREFIX}`,
          }),
      })
      .prefault({}),
  });
  const redisSpace = redis.transform(({ name, config }) => ({
    name,
    config: { ...config, key_prefix: `${config.key_prefix}${space}:` },
  }));
  const cluster = z
    .strictObject({ name: z.literal("cluster"), config: z.strictObject({}).prefault({}) })
    .transform(({ name }) => ({ name, config: { log: space } }));
  /** Older form. Its options for saving at intervals have no effect, because each write is synced. */
  const keyValue = z
    .strictObject({
      name: z.literal("kv"),
      config: z
        .strictObject({
          store_method: z.enum(["in_memory", "file_based"]).default("file_based"),
          file_path: filePath.optional(),
          channel_size: z
            .number()
            .optional()
            .meta({ description: "Has no effect: each client of a stream has its own buffer" }),
          save_interval_ms: z
            .number()
            .optional()
            .meta({ description: "Has no effect: each write is synced to disk before it is acknowledged" }),
        })
        .prefault({}),
    })
    .transform(({ config }): z.output<typeof inMemory> | z.output<typeof fileBased> => {
      if (config.store_method === "in_memory") return inMemory.parse({ name: "in_memory" });
      return fileBased.parse({
        name: "file_based",
        config: config.file_path === undefined ? {} : { file_path: config.file_path },
      });
    });
  return z.union([fileBased, inMemory, redisSpace, cluster, keyValue]).prefault({ name: "file_based" }).meta({
    description:
      "Storage of the items: file_based (default), in_memory, redis, or cluster (the default with engine.cluster: all engines share the items)",
  });
}

export type AdapterConfig = z.output<ReturnType<typeof adapterConfigSchema>>;
