import { expect, it } from "vitest";
import { byHighest, labelText, linesOf, type Series } from "./series-lines.ts";

const series = (labels: Series["labels"], points: Series["points"]): Series => ({
  ...{ name: "svc.queue.waiting", unit: "1", type: "gauge", aggregate: "avg" },
  labels,
  points,
});
const a = series({ queue: "a" }, [
  [1, 5],
  [2, null],
]);
const b = series({ queue: "b" }, [
  [2, 9],
  [3, 0],
]);

it("draws the series with the highest values over the times of all", () => {
  const { times, lines } = linesOf(byHighest([series({}, []), a, b]));
  expect(times).toEqual([1, 2, 3]);
  expect(lines.map(({ name, values }) => [name, values])).toEqual([
    ["queue=b", [null, 9, 0]],
    ["queue=a", [5, null, null]],
    ["all", [null, null, null]],
  ]);
  expect(labelText({ labels: { queue: "a" }, service_name: "shop" })).toBe("shop queue=a");
});

it("never gives two series the same name", () => {
  const of = (worker_id: string, labels = {}): Series => ({ ...series(labels, []), service_name: "shop", worker_id });
  const all = [of("w1"), of("w2"), of("w3", { a: "1 b=2" }), of("w3", { a: "1", b: "2" })];
  expect(linesOf(all).lines.map(({ name }) => name)).toEqual([
    "shop worker=w1",
    "shop worker=w2",
    "shop worker=w3 a=1 b=2",
    "shop worker=w3 a=1 b=2 (2)",
  ]);
});
