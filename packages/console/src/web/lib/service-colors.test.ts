// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";

beforeEach(() => localStorage.clear());
afterEach(() => vi.resetModules());

/** The module as a newly loaded page has it. */
const load = () => import("./service-colors.ts");

it("gives each of nine services its own colour, the same after a reload and in another order", async () => {
  const names = ["svc", "api", "orders", "payments", "catalog", "users", "mails", "search", "stock"];
  const { serviceToken } = await load();
  const first = new Map(names.map((name) => [name, serviceToken(name)]));
  expect(new Set(first.values()).size).toBe(9);
  vi.resetModules();
  const again = await load();
  for (const name of [...names].reverse()) expect(again.serviceToken(name)).toBe(first.get(name));
});

it("keeps a colour when further services appear, also if the stored colours are unreadable", async () => {
  localStorage.setItem("svc.service-colors", "no JSON");
  const { serviceColor } = await load();
  const color = serviceColor("orders");
  expect(color).toMatch(/^var\(--service-\d\)$/);
  for (let at = 0; at < 300; at++) serviceColor(`other ${at}`);
  expect(serviceColor("orders")).toBe(color);
});
