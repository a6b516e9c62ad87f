// @vitest-environment happy-dom
import { act, useState } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { HeaderPresetsMenu } from "./header-presets-menu.tsx";
import type { Row } from "./http-request.ts";

afterEach(() => vi.unstubAllGlobals());

it("adds the headers of a preset to the request", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  localStorage.clear();
  let rows: readonly Row[] = [];
  function Tester() {
    const [shown, setShown] = useState<readonly Row[]>([{ id: 1, name: "x-tenant", value: "7", on: true }]);
    rows = shown;
    return <HeaderPresetsMenu rows={shown} onChange={setShown} />;
  }
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  await act(async () => root.render(<Tester />));
  const buttonOf = (text: string) =>
    [...document.querySelectorAll("button")].find((each) => each.textContent?.startsWith(text));
  await act(async () => buttonOf("Presets")?.click());
  await expect
    .poll(async () => {
      await act(async () => {});
      return buttonOf("CORS preflight");
    })
    .toBeDefined();
  await act(async () => buttonOf("CORS preflight")?.click());
  expect(rows.map(({ name }) => name)).toEqual([
    "x-tenant",
    "origin",
    "access-control-request-method",
    "access-control-request-headers",
  ]);
  await act(async () => root.unmount());
});
