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
      max_bytes: bytes()
        .default(DEFAULT_MEMORY_BYTES)
        .meta({ description: "Keys, values and waiting deliveries that may be held, in bytes; writes beyond are refused. Default 512 MiB" }),
    })
    .prefault({}),
});

/** What differs between the modules that keep items. */
export interface AdapterDefaults {
  /** Name of the database file, e.g. `state.db`; without its ending it also tells the module's items from others' in a Redis. */
  readonly file: string;
}

/**
 * The `adapter` member of a module that keeps items: `{name: file_based | in_memory | redis, config}`, `file_based` when it is missing; `kv` with
 * `store_method`, the shape of older configs, maps onto them.
 */
export function adapterConfigSchema(defaults: AdapterDefaults) {
  const space = parse(defaults.file).name;
  const filePath = z
    .string()
    .min(1)
    .meta({ description: `The database file; relative to the data folder. Default ${defaults.file}` });
  const fileBased = z.strictObject({
    name: z.literal("file_based"),
    config: z
      .strictObject({
        file_path: filePath.default(defaults.file),
        cache_bytes: bytes()
          .default(DEFAULT_CACHE_BYTES)
          .meta({ description: "Items kept in memory for reading, in bytes. Default 64 MiB; 0 reads each time" }),
        durability: z.enum(["durable", "relaxed"]).default("durable").meta({
          description:
            "durable (default): what is answered is on the disk. relaxed: it survives any end of the process at once, and a power cut after at most a second; answers say so",
        }),
      })
      .prefault({}),
  });
  const redis = z.strictObject({
    name: z.literal("redis"),
    config: z
      .strictObject({
        redis_url: z
          .url({ protocol: /^rediss?$/, error: "must be an address that begins with redis:// or rediss://" })
          .default(DEFAULT_REDIS_URL)
          .meta({ description: `The server, with user and password where it wants them; rediss:// for TLS. Default ${DEFAULT_REDIS_URL}` }),
        key_prefix: z
          .string()
          .max(256)
          .default(DEFAULT_KEY_PREFIX)
          .meta({
            description: `Begins the names of all keys; \`${space}:\` follows it. Engines with the same prefix share their items. Default ${DEFAULT_KEY_PREFIX}`,
          }),
      })
      .prefault({}),
  });
  const redisSpace = redis.transform(({ name, config }) => ({ name, config: { ...config, key_prefix: `${config.key_prefix}${space}:` } }));
  /** Saving by interval is gone: what is answered is on the disk. */
  const keyValue = z
    .strictObject({
      name: z.literal("kv"),
      config: z
        .strictObject({
          store_method: z.enum(["in_memory", "file_based"]).default("file_based"),
          file_path: filePath.optional(),
          channel_size: z.number().optional().meta({ description: "Has no effect any more: each client of a stream has a buffer of its own" }),
          save_interval_ms: z.number().optional().meta({ description: "Has no effect any more: each write is on the disk before it is answered" }),
        })
        .prefault({}),
    })
    .transform(({ config }): z.output<typeof inMemory> | z.output<typeof fileBased> => {
      if (config.store_method === "in_memory") return inMemory.parse({ name: "in_memory" });
      return fileBased.parse({ name: "file_based", config: config.file_path === undefined ? {} : { file_path: config.file_path } });
    });
  return z
    .union([fileBased, inMemory, redisSpace, keyValue])
    .prefault({ name: "file_based" })
    .meta({ description: "Where the items are kept: file_based (default), in_memory or redis" });
}

export type AdapterConfig = z.output<ReturnType<typeof adapterConfigSchema>>;
