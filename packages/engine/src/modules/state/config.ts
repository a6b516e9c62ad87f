import { z } from "zod";

/** Largest value, in bytes of its JSON, unless the config says otherwise: 8 MiB. */
const DEFAULT_MAX_VALUE_BYTES = 8 * 1024 * 1024;
/** A value travels in one frame of at most 16 MiB, together with the value it replaces. */
const HIGHEST_MAX_VALUE_BYTES = 15 * 1024 * 1024;
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
const DEFAULT_MEMORY_BYTES = 512 * 1024 * 1024;
const MAX_BYTES = 1024 ** 4;

const bytes = () => z.int().min(0).max(MAX_BYTES);

const inMemoryConfig = z.strictObject({
  max_bytes: bytes()
    .default(DEFAULT_MEMORY_BYTES)
    .meta({ description: "Keys and values that may be held, in bytes; writes beyond are refused. Default 512 MiB" }),
});

const filePath = z.string().min(1).meta({ description: "The database file; relative to the data folder. Default state.db" });

const fileConfig = z.strictObject({
  file_path: filePath.default("state.db"),
  cache_bytes: bytes().default(DEFAULT_CACHE_BYTES).meta({ description: "Items kept in memory for reading, in bytes. Default 64 MiB; 0 reads each time" }),
});

const inMemory = z.strictObject({ name: z.literal("in_memory"), config: inMemoryConfig.prefault({}) });
const fileBased = z.strictObject({ name: z.literal("file_based"), config: fileConfig.prefault({}) });

/** The shape of older configs. Saving by interval is gone: what is answered is on the disk. */
const keyValue = z
  .strictObject({
    name: z.literal("kv"),
    config: z
      .strictObject({
        store_method: z.enum(["in_memory", "file_based"]).default("file_based"),
        file_path: filePath.optional(),
        save_interval_ms: z.number().optional().meta({ description: "Has no effect any more: each write is on the disk before it is answered" }),
      })
      .prefault({}),
  })
  .transform(({ config }): AdapterConfig => {
    if (config.store_method === "in_memory") return inMemory.parse({ name: "in_memory" });
    return fileBased.parse({ name: "file_based", config: config.file_path === undefined ? {} : { file_path: config.file_path } });
  });

export type AdapterConfig = z.output<typeof inMemory> | z.output<typeof fileBased>;

/** The `config` of an `svc-state` entry. */
export const stateConfigSchema = z.strictObject({
  adapter: z
    .union([fileBased, inMemory, keyValue])
    .prefault({ name: "file_based" })
    .meta({ description: "Where the items are kept: file_based (default) or in_memory" }),
  max_value_bytes: z
    .int()
    .min(1)
    .max(HIGHEST_MAX_VALUE_BYTES)
    .default(DEFAULT_MAX_VALUE_BYTES)
    .meta({ description: "Largest value, in bytes of its JSON. Default 8 MiB, at most 15 MiB" }),
});

export type StateConfig = z.output<typeof stateConfigSchema>;
