import { z } from "zod";

// A host glob, `host:port` with it, or scheme, host, port and path; `*` stands for any characters within its part.
const HOST = "(?:[a-z0-9*_.-]{1,253}|\\[[0-9a-f:.]{2,45}\\])(?::(?:[0-9]{1,5}|\\*))?";
const PATTERN = new RegExp(`^(?:(?:\\*|https?)://${HOST}(?:/[^\\s?#]{0,2048})?|${HOST})$`, "i");

const urlPatternSchema = z
  .string()
  .regex(PATTERN, { message: "must be a host glob such as *.example.com, or a URL pattern such as https://api.example.com/v1/*, without query" });

/** `engine.http_functions` of the config file. */
export const httpFunctionsBlockSchema = z.strictObject({
  url_allowlist: z
    .array(urlPatternSchema)
    .max(1000)
    .optional()
    .meta({ description: "Host globs and URL patterns that may be called. Default none, which allows all" }),
  block_private_ips: z.boolean().optional().meta({ description: "Refuse loopback, private and other non-public addresses. Default true" }),
  require_https: z.boolean().optional().meta({ description: "Refuse http: URLs. Default true" }),
  retries: z.int().min(0).max(10).optional().meta({ description: "Further attempts after one that could not connect. Default 2" }),
});
export type HttpFunctionsBlock = z.output<typeof httpFunctionsBlockSchema>;

/** The `config` of the reference's own entry for this: `{security: {…}}`. */
export const httpFunctionsEntrySchema = z.looseObject({ security: httpFunctionsBlockSchema.optional() });
