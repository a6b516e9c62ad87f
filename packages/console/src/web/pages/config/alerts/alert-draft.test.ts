import { expect, it } from "vitest";
import { NEW_ALERT, operatorSign, problemsOf, ruleOf } from "./alert-draft.ts";

const GOOD = { ...NEW_ALERT, name: "many errors", metric: "svc.calls", threshold: "0.5" };

it("says of each field what is wrong with it", () => {
  expect(Object.keys(problemsOf(NEW_ALERT)).sort()).toEqual(["metric", "name", "threshold"]);
  expect(problemsOf(GOOD)).toEqual({});
  expect(problemsOf({ ...GOOD, windowSeconds: "4", forSeconds: "-1", labels: "status", action: "webhook" })).toEqual({
    windowSeconds: "5 to 86,400 whole seconds",
    forSeconds: "0 to 86,400 whole seconds",
    labels: "Each line is name=value",
    target: "It needs an address",
  });
});

it("makes the rule that the engine takes", () => {
  expect(ruleOf({ ...GOOD, labels: "function_id=math::add\nquery=a=b\n", action: "function", target: "alerts::tell" })).toMatchObject({
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
