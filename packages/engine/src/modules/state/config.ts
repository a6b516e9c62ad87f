import { z } from "zod";
import { adapterConfigSchema } from "../../items/adapter-config.ts";

/** Maximum size of a value's JSON, in bytes: a response has at most 16 MiB and contains the new and the old value. */
const MAX_VALUE_BYTES = 8 * 1024 * 1024;

/** Schema of the `config` of an `svc-state` entry. */
export const stateConfigSchema = z.strictObject({
  adapter: adapterConfigSchema({ file: "state.db" }),
  max_value_bytes: z
    .int()
    .min(1)
    .max(MAX_VALUE_BYTES)
    .default(MAX_VALUE_BYTES)
    .meta({ description: "Maximum size of a value's JSON, in bytes. Default and maximum 8 MiB" }),
});

export type StateConfig = z.output<typeof stateConfigSchema>;
