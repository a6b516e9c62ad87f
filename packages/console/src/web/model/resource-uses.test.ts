import { expect, it } from "vitest";
import { callsToRead, nameInInput, runsOfJobs, type UseCall, usesOf } from "./resource-uses.ts";

const call = (invocationId: string, isError = false): UseCall => ({
  from: "a",
  to: "state::set",
  kind: "state",
  invocationId,
  isError,
});

it("names a use by its input, and unread ones by the only known name", () => {
  expect(usesOf([call("1"), call("2", true)], new Map([["1", "orders"]]))).toEqual([
    { from: "a", to: "state::set", kind: "state", name: "orders", calls: 2, errors: 1 },
  ]);
  const two = usesOf(
    [call("1"), call("2"), call("3")],
    new Map([
      ["1", "orders"],
      ["2", "stock"],
    ]),
  );
  expect(two.map(({ name, calls }) => [name, calls])).toEqual([
    ["orders", 1],
    ["stock", 1],
    [undefined, 1],
  ]);
});

it("reads the name from JSON that may be truncated", () => {
  expect(nameInInput("state", '{"scope":"orders","key":"k"}')).toBe("orders");
  expect(nameInInput("topic", '{"topic":"order.created"}')).toBe("order.created");
  expect(nameInInput("state", '{"scope":"ord')).toBeUndefined();
  expect(nameInInput("state", undefined)).toBeUndefined();
});

it("reads some inputs of each pair, each once", () => {
  expect(
    callsToRead([call("1"), call("2"), call("3"), call("4")], (id) => id === "1", 3, 9).map(
      ({ invocationId }) => invocationId,
    ),
  ).toEqual(["2", "3"]);
});

it("finds runs of jobs in spans, each once", () => {
  const run = (span_id: string, status: string, more: object = {}) => ({
    ...{ trace_id: "t", span_id, parent_span_id: null, status },
    attributes_map: { "svc.job.queue": "mails", "svc.function_id": "mail::send", ...more },
  });
  const spans = [
    run("1", "ok"),
    run("2", "error"),
    run("3", "ok", { "svc.invocation_id": "i" }),
    run("4", "ok", { "svc.function_id": undefined }),
  ];
  expect(runsOfJobs(spans)).toEqual([{ queue: "mails", to: "mail::send", calls: 2, errors: 1 }]);
});
