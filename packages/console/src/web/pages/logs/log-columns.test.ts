// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { columnsOf, defaultColumns } from "./log-columns.tsx";

it("shows the engines of a cluster, unless the reader chose columns", () => {
  const keys = (hasNodes: boolean): string[] => columnsOf(defaultColumns(hasNodes)).map(({ key }) => key);
  expect(keys(true)).toEqual(["time", "level", "node", "source", "function", "trace", "message"]);
  expect(keys(false)).toEqual(["time", "level", "source", "function", "trace", "message"]);
  expect(columnsOf(["message", "node"]).map(({ header }) => header)).toEqual(["Message", "Node"]);
});
