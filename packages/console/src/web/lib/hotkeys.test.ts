// @vitest-environment happy-dom
import { act, createElement, Fragment } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { useHotkey } from "./hotkeys.ts";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

const ran: string[] = [];
function Keys() {
  useHotkey("g c", "Go", () => ran.push("g c"));
  useHotkey("c", "Copy", () => ran.push("c"));
  return createElement(Fragment, null, createElement("input"));
}

it("runs a key sequence instead of the shortcut of its last key", async () => {
  const place = document.body.appendChild(document.createElement("div"));
  const root = createRoot(place);
  await act(() => root.render(createElement(Keys)));
  const press = (key: string, target: EventTarget = document.body) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("g");
  press("c");
  press("c");
  // In a field, a letter is text.
  press("c", place.querySelector("input") as HTMLInputElement);
  // Shortcuts of the page do not run while a dialog is open.
  const dialog = document.body.appendChild(document.createElement("div"));
  dialog.setAttribute("role", "dialog");
  press("c", dialog);
  expect(ran).toEqual(["g c", "c"]);
  await act(() => root.unmount());
  press("c");
  expect(ran).toEqual(["g c", "c"]);
});
