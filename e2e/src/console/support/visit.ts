import type { Page } from "playwright-core";

/** No page of the console has this address. */
const NOWHERE = "/nowhere";

/**
 * Goes to an address of the console without loading the document, as a link of the page does: a fifth of the cost of a load. The page that is there is removed
 * first, so that the new one begins with what its address says, also if both are the same page.
 */
export async function visit(page: Page, path: string): Promise<void> {
  await push(page, NOWHERE);
  await page.getByText("There is no such page").waitFor();
  await push(page, path);
}

async function push(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
}

/** Runs a check for each case, and reports all that fail, each by its name. */
export async function checkEach<Case>(cases: readonly Case[], nameOf: (each: Case) => string, check: (each: Case) => Promise<void>): Promise<void> {
  const failures: Error[] = [];
  for (const each of cases) {
    try {
      await check(each);
    } catch (cause) {
      failures.push(new Error(`${nameOf(each)}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause }));
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}
