import { Payload } from "@svc-runtime/protocol";
import { expect, it } from "vitest";
import { opsJson } from "./update-op.ts";
import { updateOpsSchema } from "./update-schema.ts";

it("operations are written as they were read, digits and all", () => {
  const ops = updateOpsSchema.parse([
    { type: "set", path: ["a", "b"], value: Payload.fromText('{"n":9007199254740993}') },
    { type: "append", path: "c", value: Payload.fromText("[1]") },
    { type: "increment", path: "d", by: 2 },
  ]);
  expect(opsJson(ops)).toBe(
    '[{"type":"set","path":["a","b"],"value":{"n":9007199254740993}},{"type":"append","path":"c","value":[1]},{"type":"increment","path":"d","by":2}]',
  );
});
