import type { Page } from "playwright-core";
import { expect } from "vitest";
import { live, openPage } from "./watched-page.ts";

/**
 * Opens an address: what it says holds, and still does after a reload, and after another page was visited and one came back. Nothing of it was dropped.
 */
export async function checkDeepLink(url: string, holds: (page: Page) => Promise<unknown>): Promise<void> {
  const { page } = await openPage(url);
  page.setDefaultTimeout(15_000);
  const wanted = parametersOf(url);
  const check = async (): Promise<void> => {
    await live(page);
    await holds(page);
    expect(parametersOf(page.url())).toEqual(wanted);
    expect(await page.getByText("left out").count()).toBe(0);
  };
  await check();
  await page.reload();
  await check();
  await page.getByRole("navigation").getByRole("link", { name: "Config" }).click();
  await page.getByRole("heading", { level: 1, name: "Config" }).waitFor();
  await page.goBack();
  await check();
  await page.goForward();
  await page.getByRole("heading", { level: 1, name: "Config" }).waitFor();
}

function parametersOf(url: string): readonly string[] {
  const { pathname, searchParams } = new URL(url);
  return [pathname, ...[...searchParams.keys()].sort()];
}
