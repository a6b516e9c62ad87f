import { t } from "../labels/translate.ts";
import { useHotkey } from "./hotkeys.ts";

/** Registers the keys j and k. They move in the first list of the page if no list has the focus. */
export function useListKeys(): void {
  useHotkey("j", t`Next row of the list`, () => moveInList("j"));
  useHotkey("k", t`Previous row of the list`, () => moveInList("k"));
}

function moveInList(key: "j" | "k"): void {
  const grids = document.querySelectorAll<HTMLElement>('#content [role="grid"], #content [role="treegrid"]');
  const grid = [...grids].find((each) => each.getClientRects().length > 0);
  // If a list has the focus, it has already handled the key. If there is no list, there is nothing to move in.
  if (grid === undefined || grid === document.activeElement) return;
  grid.focus({ preventScroll: true });
  grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}
