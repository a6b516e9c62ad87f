// @vitest-environment happy-dom
import { act, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { useIsNarrow } from "./list-detail.tsx";

/** A media query that the test controls. */
class MediaQuery extends EventTarget {
  matches = false;
}

afterEach(() => vi.unstubAllGlobals());

it("detects that the window became narrow before the component listened for changes", async () => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const media = new MediaQuery();
  vi.stubGlobal("matchMedia", () => media);
  function Width() {
    const isNarrow = useIsNarrow(640);
    // Runs after the first rendering and before the effects that listen.
    useLayoutEffect(() => {
      media.matches = true;
    }, []);
    return isNarrow ? "narrow" : "wide";
  }
  const place = document.createElement("div");
  const root = createRoot(place);
  await act(async () => root.render(<Width />));

  expect(place.textContent).toBe("narrow");

  media.matches = false;
  await act(async () => void media.dispatchEvent(new Event("change")));
  expect(place.textContent).toBe("wide");
  await act(async () => root.unmount());
});
