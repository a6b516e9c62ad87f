import { expect, it } from "vitest";
import { triggerLabel } from "./triggers.ts";

it("labels triggers by their condition", () => {
  expect(triggerLabel({ trigger_type: "http", config: { api_path: "/x" } })).toBe("GET /x");
  expect(triggerLabel({ trigger_type: "cron", config: { expression: "0 * * * * *" } })).toBe("0 * * * * *");
  expect(triggerLabel({ trigger_type: "event", config: { topic: "order.*" } })).toBe("order.*");
  expect(triggerLabel({ trigger_type: "webhook", config: null })).toBe("webhook");
});
