/** Focuses the element, or the page if the element is gone. Does nothing if something else has the focus already. */
export function focusOn(element: Element | null): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const isThere = element instanceof HTMLElement && element.isConnected && element !== document.body;
  (isThere ? element : document.getElementById("content"))?.focus();
}
