// @vitest-environment happy-dom
import { completeQuery, TRACE_FIELDS } from "@svc-runtime/protocol/query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SearchBox } from "./search-box.tsx";

beforeEach(() => vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true));
afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

async function openBox() {
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  const valuesOf = (field: string): readonly string[] => (field === "function" ? ["math::add", "math::double"] : []);
  await act(async () =>
    root.render(
      <SearchBox
        label="Filter"
        value=""
        onChange={() => {}}
        complete={(text, caret) => completeQuery(text, caret, { fields: TRACE_FIELDS, valuesOf })}
      />,
    ),
  );
  const box = place.querySelector("input") as HTMLInputElement;
  return {
    box,
    options: () => [...place.querySelectorAll('[role="option"] code')].map(({ textContent }) => textContent),
    async type(text: string) {
      const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set;
      await act(async () => {
        setValue?.call(box, text);
        box.setSelectionRange(text.length, text.length);
        box.dispatchEvent(new Event("input", { bubbles: true }));
      });
    },
    async press(key: string) {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      await act(async () => void box.dispatchEvent(event));
      return event.defaultPrevented;
    },
    close: () => act(async () => root.unmount()),
  };
}

it("completes fields and values with the keyboard", async () => {
  const { box, options, type, press, close } = await openBox();
  await type("error and fun");
  expect(options()).toEqual(["function:"]);
  await press("ArrowDown");
  expect(box.getAttribute("aria-activedescendant")).toBe(document.querySelector('[aria-selected="true"]')?.id);
  expect(await press("Enter")).toBe(true);
  expect(box.value).toBe("error and function:");
  expect(options()).toEqual(["math::add", "math::double"]);
  await press("ArrowUp");
  await press("Tab");
  expect(box.value).toBe("error and function:math::double");
  await close();
});

it("leaves Enter to the form while no option is chosen, and closes the list with Escape before it clears the box", async () => {
  const { box, options, type, press, close } = await openBox();
  await type("sta");
  expect(await press("Enter")).toBe(false);
  await press("Escape");
  expect([options(), box.value]).toEqual([[], "sta"]);
  await press("Escape");
  expect(box.value).toBe("");
  await close();
});
