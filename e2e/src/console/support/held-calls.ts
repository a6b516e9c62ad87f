import type { Page } from "playwright-core";

/**
 * Holds calls of the page whose request contains the text, until the returned function is called; later ones are not
 * held.
 */
export async function holdCalls(page: Page, text: string): Promise<() => void> {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/api/call*", async (route) => {
    if (route.request().postData()?.includes(text) === true) await released;
    return route.continue();
  });
  return release;
}
