import { z } from "zod";
import { adapterConfigSchema } from "../../items/adapter-config.ts";

/** Largest value, in bytes of its JSON, unless the config says otherwise: 8 MiB. */
const DEFAULT_MAX_VALUE_BYTES = 8 * 1024 * 1024;
/** A value travels in one frame of at most 16 MiB, together with the value it replaces. */
const HIGHEST_MAX_VALUE_BYTES = 15 * 1024 * 1024;
/** The `config` of an `svc-state` entry. */
export const stateConfigSchema = z.strictObject({
  adapter: adapterConfigSchema({ file: "state.db" }),
  max_value_bytes: z
    .int()
    .min(1)
    .max(HIGHEST_MAX_VALUE_BYTES)
    .default(DEFAULT_MAX_VALUE_BYTES)
    .meta({ description: "Largest value, in bytes of its JSON. Default 8 MiB, at most 15 MiB" }),
});

export type StateConfig = z.output<typeof stateConfigSchema>;
