import { expect, it } from "vitest";
import { countChanges } from "./count-changes.ts";

it("counts added, removed and changed items once", () => {
  const [a, b, c] = [{ id: "a" }, { id: "b" }, { id: "c" }];
  const changes = (before: readonly { readonly id: string }[], after: readonly { readonly id: string }[]) =>
    countChanges(before, after, ({ id }) => id);
  expect(changes([a, b], [a, b])).toBe(0);
  expect(changes([a, b], [b, a])).toBe(0);
  expect(changes([a, b], [{ id: "a" }, c])).toBe(3);
  expect(
    countChanges(
      [a],
      [{ id: "a" }],
      ({ id }) => id,
      () => true,
    ),
  ).toBe(0);
});
