// @vitest-environment happy-dom
import { beforeEach, expect, it } from "vitest";
import { noteRecent, recentItems, withRecent } from "./recent-items.ts";

beforeEach(() => localStorage.clear());

it("keeps each address once, the latest first, up to the maximum", () => {
  const items = Array.from({ length: 30 }, (_, at) => ({
    href: `/functions/${at}`,
    page: "Functions",
    subject: `${at}`,
  }));
  const kept = items.reduce(withRecent, [] as ReturnType<typeof recentItems>);
  expect(kept).toHaveLength(12);
  expect(kept[0]?.subject).toBe("29");
  expect(
    withRecent(kept, { href: "/functions/20", page: "Functions", subject: "20" })
      .map(({ subject }) => subject)
      .slice(0, 3),
  ).toEqual(["20", "29", "28"]);
});

it("ignores entries of the browser's storage that are not addresses of the console", () => {
  noteRecent({ href: "/workers/1", page: "Workers", subject: "orders" });
  localStorage.setItem(
    "svc.recent",
    JSON.stringify([
      ...recentItems(),
      { href: "//evil.example", page: "x", subject: "x" },
      { href: "javascript:alert(1)", page: "x", subject: "x" },
      null,
      3,
    ]),
  );
  expect(recentItems().map(({ href }) => href)).toEqual(["/workers/1"]);
  localStorage.setItem("svc.recent", "{");
  expect(recentItems()).toEqual([]);
});
