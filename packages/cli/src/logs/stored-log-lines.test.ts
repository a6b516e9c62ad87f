import pc from "picocolors";
import { expect, it } from "vitest";
import { type StoredLog, storedLogLine } from "./stored-log-lines.ts";

const entry: StoredLog = {
  id: "1",
  timestamp_ms: 0,
  severity_number: 17,
  severity_text: "ERROR",
  body: "the order was lost\n",
  service_name: "shop-worker",
  attributes: {},
  trace_id: null,
};

it("shows a stack below its entry, and nothing twice", () => {
  const attributes = {
    worker: "shop-worker",
    order_id: 7,
    "exception.type": "TypeError",
    "exception.message": "no stock",
    "exception.stacktrace": "TypeError: no stock\n    at order (shop.ts:7:1)\n",
  };
  const [head, ...stack] = storedLogLine({ ...entry, attributes }, pc.createColors(false)).split("\n");

  expect(head).toMatch(/ error shop-worker the order was lost order_id=7$/);
  expect(stack).toEqual(["    TypeError: no stock", "        at order (shop.ts:7:1)"]);
});

it("keeps exception attributes without a stack, and the name of another worker", () => {
  const attributes = { worker: "mail-worker", "exception.message": "no stock" };
  expect(storedLogLine({ ...entry, attributes }, pc.createColors(false))).toMatch(
    / lost worker=mail-worker exception\.message="no stock"$/,
  );
});

it("names the engine of a cluster", () => {
  expect(storedLogLine({ ...entry, node: "b" }, pc.createColors(false))).toMatch(/ lost node=b$/);
});
