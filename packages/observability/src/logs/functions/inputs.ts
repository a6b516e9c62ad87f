import { channelRefSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { cursorSchema } from "../../query/cursor.ts";
import { logFilterMembers } from "../log-filter-input.ts";

const order = z.enum(["asc", "desc"]).nullish().meta({ description: "By time. Default: desc (newest first)" });
const id = z
  .string()
  .regex(/^\d{1,16}(?:@.{1,255})?$/)
  .meta({ description: "Id of a log entry" });

export const listInput = () =>
  z.object({
    ...logFilterMembers(),
    offset: z.int().min(0).max(1_000_000).nullish(),
    limit: z.int().min(1).max(5_000).nullish().meta({ description: "Default 200" }),
    cursor: cursorSchema.nullish(),
    sort_order: order,
  });
export type ListInput = z.infer<ReturnType<typeof listInput>>;

export const getInput = () => z.object({ id });

const neighbours = z.int().min(0).max(1_000).nullish().meta({ description: "Default 50" });
export const aroundInput = () => z.object({ ...logFilterMembers(), id, before: neighbours, after: neighbours });
export type AroundInput = z.infer<ReturnType<typeof aroundInput>>;

export const facetsInput = () =>
  z.object({
    ...logFilterMembers(),
    facets: z
      .array(z.string().min(1).max(256))
      .max(20)
      .nullish()
      .meta({ description: "level, service, function_id, worker (the default), or names of attributes" }),
  });
export type FacetsInput = z.infer<ReturnType<typeof facetsInput>>;

export const histogramInput = () =>
  z.object({ ...logFilterMembers(), buckets: z.int().min(1).max(1_000).nullish().meta({ description: "Default 60" }) });
export type HistogramInput = z.infer<ReturnType<typeof histogramInput>>;

export const tailInput = () =>
  z.object({
    ...logFilterMembers(),
    after: cursorSchema
      .nullish()
      .meta({ description: "Cursor of the previous result; without one only new entries are returned" }),
    limit: z.int().min(1).max(1_000).nullish().meta({ description: "Default 500" }),
    wait_ms: z
      .int()
      .min(0)
      .max(25_000)
      .nullish()
      .meta({ description: "Maximum time to wait for an entry, in milliseconds. Default 0" }),
  });
export type TailInput = z.infer<ReturnType<typeof tailInput>>;

export const exportInput = () =>
  z.object({
    ...logFilterMembers(),
    format: z.enum(["ndjson", "csv", "otlp_json"]).nullish().meta({ description: "Default ndjson" }),
    sort_order: order,
  });
export type ExportInput = z.infer<ReturnType<typeof exportInput>>;

export const importInput = () =>
  z.object({
    lines: channelRefSchema,
    format: z.enum(["ndjson", "otlp_json"]).nullish().meta({ description: "Default ndjson" }),
  });
export type ImportInput = z.infer<ReturnType<typeof importInput>>;
