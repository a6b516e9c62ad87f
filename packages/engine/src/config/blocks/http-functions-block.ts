import { z } from "zod";

// A host glob, optionally with a port, or a URL of scheme, host, port and path. `*` matches any characters within its
// part.
const HOST = "(?:[a-z0-9*_.-]{1,253}|\\[[0-9a-f:.]{2,45}\\])(?::(?:[0-9]{1,5}|\\*))?";
const PATTERN = new RegExp(`^(?:(?:\\*|https?)://${HOST}(?:/[^\\s?#]{0,2048})?|${HOST})$`, "i");

const urlPatternSchema = z.string().regex(PATTERN, {
  message:
    "must be a host glob such as *.example.com, or a URL pattern such as https://api.example.com/v1/*, without query",
});

/** `engine.http_functions` of the config file. */
export const httpFunctionsBlockSchema = z.strictObject({
  url_allowlist: z
    .array(urlPatternSchema)
    .max(1000)
    .default([])
    .meta({ description: "Host globs and URL patterns that may be called; an empty list allows all" }),
  block_private_ips: z
    .boolean()
    .default(true)
    .meta({ description: "Refuse loopback, private and other non-public addresses" }),
  require_https: z.boolean().default(true).meta({ description: "Refuse http: URLs" }),
  retries: z.int().min(0).max(10).default(2).meta({ description: "Number of retries after a failure to connect" }),
});
/** The block as written in the file, without defaults. */
export type HttpFunctionsBlock = z.input<typeof httpFunctionsBlockSchema>;

/** Schema of the `config` of the reference's entry for HTTP functions: `{security: {…}}`. */
export const httpFunctionsEntrySchema = z.looseObject({ security: httpFunctionsBlockSchema.optional() });
