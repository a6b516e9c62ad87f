// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { setZone, swapTimes } from "../lib/time.ts";
import { Ago, Timestamp } from "./time.tsx";

afterEach(() => vi.unstubAllGlobals());

it("swaps relative and absolute times everywhere at once", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  setZone("UTC");
  const ms = Date.now() - 3 * 3_600_000 - 60_000;
  const clock = new Date(ms).toISOString().slice(11, 19);
  const place = document.createElement("div");
  const root = createRoot(place);
  await act(async () =>
    root.render(
      <>
        <Timestamp ms={ms} withMs={false} /> / <Ago ms={ms} />
      </>,
    ),
  );
  expect(place.textContent).toBe(`${clock} / 3 h ago`);
  await act(async () => swapTimes());
  expect(place.textContent).toBe(`3 h ago / ${clock}`);
  await act(async () => swapTimes());
  expect(place.textContent).toBe(`${clock} / 3 h ago`);
  await act(async () => root.unmount());
});
