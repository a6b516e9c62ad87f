// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { columnsToDraw } from "../../lib/saved-columns.ts";
import { COLUMNS, DRAIN_COLUMN } from "./nodes-page.tsx";

const GAP = 12;
/** Left and right of a row, with the button that chooses columns. */
const PADDING = 56;
const NARROW_PADDING = 32;

it("has room for the button Drain at each width from a phone's", () => {
  const all = [...COLUMNS, DRAIN_COLUMN];
  for (let width = 360; width < 1_600; width += 10) {
    const shown = columnsToDraw(all, undefined, width);
    const rem = shown.map((column) => Number(/([\d.]+)rem/.exec(column.width)?.[1]));
    const taken = rem.reduce((sum, each) => sum + each * 16, GAP * (shown.length - 1));
    expect(taken + (width < 480 ? NARROW_PADDING : PADDING), `${width}`).toBeLessThanOrEqual(width);
  }
});
