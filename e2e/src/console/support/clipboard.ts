import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

export async function clipboard(page: Page): Promise<string> {
  return (await page.evaluate("navigator.clipboard.readText()")) as string;
}

/** Returns what the button copies; waits while it is an empty text. */
export async function copiedBy(button: Locator): Promise<string> {
  const page = button.page();
  await page.evaluate('navigator.clipboard.writeText("")');
  await button.click();
  await expect.poll(() => clipboard(page)).not.toBe("");
  return clipboard(page);
}
