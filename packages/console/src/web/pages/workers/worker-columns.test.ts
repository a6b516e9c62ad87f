// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { columnsToDraw } from "../../lib/saved-columns.ts";
import { workerColumns } from "./worker-columns.tsx";

/** Width of the table in a window of 1,440 px. */
const WIDTH = 1_240;
const GAP = 12;
/** Left and right of a row, with the button that chooses columns. */
const PADDING = 56;

it.each([false, true])("fits a window of 1,440 px (in a cluster: %s)", (hasNodes) => {
  const shown = columnsToDraw(workerColumns(new Map(), { isBeside: false, hasNodes }), undefined, WIDTH);
  const rem = shown.map(({ width }) => Number((/,([\d.]+)rem\),/.exec(width) ?? /([\d.]+)rem/.exec(width))?.[1]));
  const taken = rem.reduce((sum, each) => sum + each * 16, GAP * (shown.length - 1) + PADDING);
  expect(taken).toBeLessThanOrEqual(WIDTH);
});
