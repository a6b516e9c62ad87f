import { expect, it } from "vitest";
import { columnsToDraw } from "./saved-columns.ts";

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
