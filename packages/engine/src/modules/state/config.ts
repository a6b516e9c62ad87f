import { z } from "zod";
import { adapterConfigSchema } from "../../items/adapter-config.ts";

/** Largest value, in bytes of its JSON: an answer of 16 MiB holds one together with the value that it replaced. */
const MAX_VALUE_BYTES = 8 * 1024 * 1024;

/** The `config` of an `svc-state` entry. */
export const stateConfigSchema = z.strictObject({
  adapter: adapterConfigSchema({ file: "state.db" }),
  max_value_bytes: z
    .int()
    .min(1)
    .max(MAX_VALUE_BYTES)
    .default(MAX_VALUE_BYTES)
    .meta({ description: "Largest value, in bytes of its JSON. Default 8 MiB, which is the most there can be" }),
});

export type StateConfig = z.output<typeof stateConfigSchema>;
