import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** WCAG 2.2 AA and what axe counts as good practice. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** A page that changes all the time is looked at this often at most. */
const MOST_LOOKS = 5;
/**
 * axe reads a page piece by piece. Where an element changes meanwhile, it takes what it read before with what it reads after, e.g. that a button can be used
 * with the colour that it had while it could not: so it says whether anything but text changed.
 */
const LOOK = `(async () => {
  const fades = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().iterations !== Infinity);
  await Promise.all(fades.map((animation) => animation.finished.catch(() => undefined)));
  let hasChanged = false;
  const observer = new MutationObserver(() => { hasChanged = true; });
  observer.observe(document, { subtree: true, childList: true, attributes: true });
  const { violations } = await axe.run(document, { runOnly: { type: "tag", values: ${JSON.stringify(TAGS)} }, resultTypes: ["violations"] });
  hasChanged ||= observer.takeRecords().length > 0;
  observer.disconnect();
  return { violations, hasChanged };
})()`;

/** What axe finds on the page as it stands, one line each; empty is good. What it finds while the page changes counts if it finds it still. */
export async function axeViolations(page: Page): Promise<string[]> {
  // Through the protocol: the page's security policy allows no foreign scripts.
  await page.evaluate(source);
  let violations: readonly Violation[] = [];
  for (let look = 0; look < MOST_LOOKS; look++) {
    const seen = (await page.evaluate(LOOK)) as { readonly violations: readonly Violation[]; readonly hasChanged: boolean };
    violations = seen.violations;
    if (violations.length === 0 || !seen.hasChanged) break;
  }
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`.slice(0, 400)),
  );
}
