import type { Page } from "playwright-core";

/** Replaces the content of the page's editor, as a paste does. */
export async function pasteIntoEditor(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
