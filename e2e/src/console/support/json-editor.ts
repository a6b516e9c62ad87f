import type { Page } from "playwright-core";

/** Puts a text in the place of what the page's editor holds, as if it was pasted. */
export async function pasteIntoEditor(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
