import { expect, it } from "vitest";
import { NEW_ALERT, operatorSign, problemsOf, ruleOf } from "./alert-draft.ts";

const GOOD = { ...NEW_ALERT, name: "many errors", metric: "svc.calls", threshold: "0.5" };

it("reports the problem of each field", () => {
  expect(Object.keys(problemsOf(NEW_ALERT)).sort()).toEqual(["metric", "name", "threshold"]);
  expect(problemsOf(GOOD)).toEqual({});
  expect(problemsOf({ ...GOOD, windowSeconds: "4", forSeconds: "-1", labels: "status", action: "webhook" })).toEqual({
    windowSeconds: "Must be a whole number from 5 to 86,400",
    forSeconds: "Must be a whole number from 0 to 86,400",
    labels: "Each line must be name=value",
    target: "URL is required",
  });
});

it("builds the rule for the engine", () => {
  expect(
    ruleOf({ ...GOOD, labels: "function_id=math::add\nquery=a=b\n", action: "function", target: "alerts::tell" }),
  ).toMatchObject({
    threshold: 0.5,
    window_seconds: 60,
    labels: { function_id: "math::add", query: "a=b" },
    action: { type: "function", path: "alerts::tell" },
  });
  expect(ruleOf({ ...GOOD, action: "keep" })).not.toHaveProperty("action");
});

it("shows operators as signs", () => {
  expect([operatorSign("GreaterThanOrEqual"), operatorSign("<")]).toEqual([">=", "<"]);
});
