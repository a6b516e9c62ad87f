import { expect, it } from "vitest";
import { attributesText } from "./log-attributes.ts";

it("writes attributes of a log entry as one line, without those of the engine, and masks secrets", () => {
  expect(attributesText({ order: 17, "svc.function_id": "a::b", to: "ada", items: [1, 2], api_key: "s3cret" })).toBe(
    "order=17 to=ada items=[1,2] api_key=***",
  );
});
