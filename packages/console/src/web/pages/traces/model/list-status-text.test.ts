import { expect, it } from "vitest";
import { statusText } from "./list-status-text.ts";

const LIST = { shown: 100, total: 250, totalIsLowerBound: false, isCutShort: false, isLoadingMore: false };

it("says how many are shown of how many", () => {
  expect(statusText(LIST)).toBe("100 of 250 traces");
  expect(statusText({ ...LIST, totalIsLowerBound: true })).toBe("100 of 250 or more traces");
  expect(statusText({ ...LIST, isLoadingMore: true })).toBe("Loading more");
});

it("does not say that there is none where the search was stopped before its end", () => {
  const cut = { ...LIST, total: 0, totalIsLowerBound: true, isCutShort: true };
  expect(statusText({ ...cut, shown: 0 })).toBe("No trace matches so far: the search took long and was stopped before its end");
  expect(statusText({ ...cut, shown: 1 })).toBe("1 trace so far: the search took long and was stopped before its end");
  expect(statusText({ ...cut, shown: 3, isLoadingMore: true })).toBe("Searching on");
});
