// @vitest-environment happy-dom
import { beforeEach, expect, it } from "vitest";
import { deletePreset, savedPresets, savePreset, withPreset } from "./header-presets.ts";

beforeEach(() => localStorage.clear());

const row = (id: number, name: string, value: string, on = true) => ({ id, name, value, on });

it("adds the headers of a preset in place of those with the same name, each row with its own id", () => {
  const rows = [row(-1, "Accept", "text/html"), row(-2, "", ""), row(-3, "x-tenant", "7")];
  const next = withPreset(rows, {
    name: "JSON",
    headers: [
      ["accept", "application/json"],
      ["x-trace", "1"],
    ],
  });
  expect(next.map(({ name, value }) => [name, value])).toEqual([
    ["x-tenant", "7"],
    ["accept", "application/json"],
    ["x-trace", "1"],
  ]);
  expect(new Set(next.map(({ id }) => id)).size).toBe(3);
});

it("saves rows that are switched on under a name, never credentials", () => {
  savePreset(" tenant ", [
    row(1, "x-tenant", "7"),
    row(2, "Authorization", "Bearer secret"),
    row(3, "x-off", "1", false),
  ]);
  expect(savedPresets()).toEqual([{ name: "tenant", headers: [["x-tenant", "7"]] }]);
  savePreset("tenant", [row(1, "x-tenant", "8")]);
  expect(savedPresets()).toEqual([{ name: "tenant", headers: [["x-tenant", "8"]] }]);
  deletePreset("tenant");
  expect(savedPresets()).toEqual([]);
});

it("ignores stored values that are no presets", () => {
  localStorage.setItem("svc.header-presets", '[{"name": 1}, {"name": "a", "headers": [["x"]]}]');
  expect(savedPresets()).toEqual([]);
  localStorage.setItem("svc.header-presets", "no JSON");
  expect(savedPresets()).toEqual([]);
});
