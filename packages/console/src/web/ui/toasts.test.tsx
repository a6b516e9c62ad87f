// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { keepToast, Toasts, toast } from "./toasts.tsx";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("removes a message after ten seconds, and a kept one when the user dismisses it", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.useFakeTimers();
  const place = document.createElement("div");
  const root = createRoot(place);
  await act(async () => root.render(<Toasts />));
  await act(async () => {
    keepToast("Import failed");
    for (const text of ["a", "b", "c", "d", "e"]) toast(text);
  });
  expect(place.textContent).toBe("Import failedDismissbcde");
  await act(async () => vi.advanceTimersByTime(60_000));
  expect(place.textContent).toBe("Import failedDismiss");
  await act(async () => place.querySelector("button")?.click());
  expect(place.textContent).toBe("");
  await act(async () => root.unmount());
});
