import { describe, expect, it } from "vitest";
import { markerOf, newRunId, runIdsIn } from "./run-marker.ts";

describe("the marker of a run", () => {
  it("names the run, and the runs around it, innermost first", () => {
    const [outer, middle, inner] = [newRunId(), newRunId(), newRunId()];
    const marker = markerOf(inner, markerOf(middle, markerOf(outer, undefined)));
    expect(runIdsIn(`PATH=/bin\0SVC_RUN_ID=${marker}\0HOME=/root\0`)).toEqual([inner, middle, outer]);
  });

  it("ignores an inherited value that is not a marker", () => {
    const id = newRunId();
    for (const value of ["", "mine", `${id}:`, `${id} ${id}`]) expect(markerOf(id, value)).toBe(id);
  });

  it("is not read from other variables, nor from part of a value", () => {
    const id = newRunId();
    for (const environment of ["", `OTHER=SVC_RUN_ID=${id}\0`, `XSVC_RUN_ID=${id}\0`, `SVC_RUN_ID=${id}x\0`])
      expect(runIdsIn(environment)).toEqual([]);
  });
});
