/** Focuses the element, or the page where that is gone. What has the focus meanwhile keeps it. */
export function focusOn(element: Element | null): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const isThere = element instanceof HTMLElement && element.isConnected && element !== document.body;
  (isThere ? element : document.getElementById("content"))?.focus();
}
