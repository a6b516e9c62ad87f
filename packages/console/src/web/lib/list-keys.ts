import { t } from "../labels/translate.ts";
import { useHotkey } from "./hotkeys.ts";

/** j and k move in the first list of the page also while no list has the focus. */
export function useListKeys(): void {
  useHotkey("j", t`Next row of the list`, () => moveInList("j"));
  useHotkey("k", t`Previous row of the list`, () => moveInList("k"));
}

function moveInList(key: "j" | "k"): void {
  const grids = document.querySelectorAll<HTMLElement>('#content [role="grid"], #content [role="treegrid"]');
  const grid = [...grids].find((each) => each.getClientRects().length > 0);
  // A list with the focus has handled the key, or has no rows.
  if (grid === undefined || grid === document.activeElement) return;
  grid.focus({ preventScroll: true });
  grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}
