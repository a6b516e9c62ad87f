import { expect, it } from "vitest";
import { columnsToDraw } from "./saved-columns.ts";
import { withUnavailable } from "./with-unavailable.ts";

const COLUMNS = [
  { key: "tick", headerHidden: true },
  { key: "name" },
  { key: "size", from: 800 },
  { key: "age", from: 400 },
];
const keys = (chosen: readonly string[] | undefined, width: number): readonly string[] =>
  columnsToDraw(COLUMNS, chosen, width).map(({ key }) => key);

it("draws the columns that have room, or the chosen ones in their order", () => {
  expect(keys(undefined, 1_000)).toEqual(["tick", "name", "size", "age"]);
  expect(keys(undefined, 500)).toEqual(["tick", "name", "age"]);
  expect(keys(["size", "name"], 500)).toEqual(["tick", "size", "name"]);
  expect(keys(["name", "gone"], 500)).toEqual(["tick", "name"]);
  expect(keys(["gone"], 500)).toEqual(["tick", "name", "age"]);
});

it("leaves columns with a hidden header at their end", () => {
  const columns = [...COLUMNS, { key: "edit", headerHidden: true, from: 400 }];
  const drawn = (width: number): readonly string[] =>
    columnsToDraw(columns, ["size", "name"], width).map(({ key }) => key);
  expect(drawn(1_000)).toEqual(["tick", "size", "name", "edit"]);
  expect(drawn(300)).toEqual(["tick", "size", "name"]);
});

it("keeps chosen columns that the table does not have now", () => {
  const available = ["name", "age"];
  expect(withUnavailable(["age", "name"], ["name", "gone", "age"], available)).toEqual(["age", "name", "gone"]);
  expect(withUnavailable(["age"], ["gone", "other", "name"], available)).toEqual(["gone", "other", "age"]);
  expect(withUnavailable(["age"], undefined, available)).toEqual(["age"]);
});
