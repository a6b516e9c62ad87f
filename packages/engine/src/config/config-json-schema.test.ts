import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "./config-json-schema.ts";

describe("configJsonSchema", () => {
  it("describes the entries of the modules, local workers and the engine block, and allows variables for numbers", () => {
    const schema = configJsonSchema([
      { name: "svc-http", config: z.strictObject({ port: z.int().min(0).default(3111) }) },
    ]);
    expect(schema).toMatchObject({
      type: "object",
      additionalProperties: false,
      properties: {
        workers: {
          type: "array",
          items: {
            anyOf: [
              {
                required: ["name"],
                properties: {
                  name: { const: "svc-http" },
                  config: {
                    properties: {
                      port: {
                        default: 3111,
                        anyOf: [
                          { type: "integer", minimum: 0 },
                          { type: "string", pattern: expect.stringContaining("\\$") },
                        ],
                      },
                    },
                  },
                },
              },
              {
                required: ["name", "path"],
                properties: {
                  replicas: {
                    description: expect.any(String),
                    anyOf: [{ type: "integer", minimum: 1, maximum: 64 }, expect.anything()],
                  },
                },
              },
            ],
          },
        },
        engine: {
          additionalProperties: false,
          properties: { log_level: { enum: ["debug", "info", "warn", "error"] } },
        },
      },
    });
    expect(JSON.stringify(schema)).not.toContain("worker_path");
  });
});
