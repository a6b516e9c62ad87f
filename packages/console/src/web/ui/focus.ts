/** Focuses the element. If it no longer exists, focuses the page. Does nothing if another element has the focus. */
export function focusOn(element: Element | null): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const isThere = element instanceof HTMLElement && element.isConnected && element !== document.body;
  (isThere ? element : document.getElementById("content"))?.focus();
}
