import type { Page } from "playwright-core";
import { expect } from "vitest";
import { checkEach, visit } from "./visit.ts";
import { live, openPage } from "./watched-page.ts";

/** An address of the console with what it shows. */
export interface DeepLink {
  readonly url: string;
  readonly holds: (page: Page) => Promise<unknown>;
}

/**
 * Checks that each address shows what it describes, also after another page was visited and after going back, and that
 * no parameter is ignored. The first address is loaded with the document and also left by going forward; the others are
 * navigated to within the page, which reads them the same way.
 */
export async function checkDeepLinks(links: readonly DeepLink[]): Promise<void> {
  const { page } = await openPage(links[0]?.url ?? "about:blank");
  await checkEach(
    links,
    ({ url }) => url,
    async ({ url, holds }) => {
      const check = async (): Promise<void> => {
        await live(page);
        await holds(page);
        expect(parametersOf(page.url())).toEqual(parametersOf(url));
        expect(await page.getByText("in the address").count()).toBe(0);
      };
      if (url === links[0]?.url) {
        await check();
        await page.reload();
      } else await visit(page, url.slice(new URL(url).origin.length));
      await check();
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Config" }).click();
      await page.getByRole("heading", { level: 1, name: "Config" }).waitFor();
      await page.goBack();
      await check();
      if (url !== links[0]?.url) return;
      await page.goForward();
      await page.getByRole("heading", { level: 1, name: "Config" }).waitFor();
    },
  );
}

function parametersOf(url: string): readonly string[] {
  const { pathname, searchParams } = new URL(url);
  return [pathname, ...[...searchParams.keys()].sort()];
}
