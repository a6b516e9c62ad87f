import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { loaded, widthOverflow } from "./watched-page.ts";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/**
 * Every rule that axe knows, also those that it runs only on request, e.g. that a label contains the visible text, except
 * deprecated ones, those of level AAA, and `hidden-content`, which reports only what axe could not check.
 */
const ALL_RULES = { all: true };
/** The rules whose result depends on colours, and so on the theme. */
const COLOUR_RULES = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
/** Sizes of a wide and a narrow window. */
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** Maximum number of runs on a page that keeps changing. */
const MAX_RUNS = 5;
/** Resolves when the page has drawn a change, e.g. a new window size. */
const TWO_FRAMES =
  "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))";

/**
 * Runs axe. axe reads a page piece by piece: if an element changes meanwhile, it may combine what it read before with what it reads after, e.g. a button that
 * is enabled with the colour of a disabled one. So the result says whether anything but text changed.
 */
function script(rules: object, within: string | undefined): string {
  return `(async () => {
    // The end of one transition may start another, e.g. of a colour that an element inherits.
    for (;;) {
      const fades = document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().iterations !== Infinity);
      if (fades.length === 0) break;
      await Promise.all(fades.map((animation) => animation.finished.catch(() => undefined)));
      await ${TWO_FRAMES};
    }
    let hasChanged = false;
    const observer = new MutationObserver(() => { hasChanged = true; });
    observer.observe(document, { subtree: true, childList: true, attributes: true });
    const known = axe.getRules().filter(({ ruleId, tags }) => ruleId !== "hidden-content" && !tags.includes("deprecated") && !tags.includes("wcag2aaa"));
    const rules = ${JSON.stringify(rules)};
    const asked = rules.all === true ? { runOnly: { type: "rule", values: known.map(({ ruleId }) => ruleId) } } : rules;
    const { violations: found } = await axe.run(${within === undefined ? "document" : JSON.stringify(within)}, { ...asked, resultTypes: ["violations"] });
    // Has the focus with a reason that axe does not know: separators (https://www.w3.org/WAI/ARIA/apg/patterns/windowsplitter/),
    // nodes of graphs, which are groups that Enter opens, and what Radix puts around a dialog to keep the focus in it.
    const isWidget = ({ target }) => document.querySelector(target.at(-1))?.matches('[role="separator"], .react-flow__node, [data-radix-focus-guard]') === true;
    const violations = found
      .map((each) => (each.id === "focus-order-semantics" ? { ...each, nodes: each.nodes.filter((node) => !isWidget(node)) } : each))
      .filter(({ nodes }) => nodes.length > 0);
    hasChanged ||= observer.takeRecords().length > 0;
    observer.disconnect();
    return { violations, hasChanged };
  })()`;
}

/**
 * Returns the violations that axe finds on the page, or below the elements that the selector `within` finds, one line each. A violation found while the page
 * changes counts if it is found again.
 */
export async function axeViolations(page: Page, rules: object = ALL_RULES, within?: string): Promise<string[]> {
  // Through the protocol: the page's security policy allows no foreign scripts.
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(source);
  let violations: readonly Violation[] = [];
  for (let run = 0; run < MAX_RUNS; run++) {
    const result = (await page.evaluate(script(rules, within))) as {
      readonly violations: readonly Violation[];
      readonly hasChanged: boolean;
    };
    violations = result.violations;
    if (violations.length === 0 || !result.hasChanged) break;
  }
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`.slice(0, 400)),
  );
}

/** Pages of each console that were checked whole, e.g. `http://localhost:4000/traces/*`. Elsewhere than in `main` they differ by nothing but their page. */
const checkedPages = new Set<string>();

/**
 * Checks that the page is accessible and no wider than the window, in a wide and in a narrow window and in both themes. All rules when wide and light, and
 * when narrow and dark; else the rules about colours. Checks the document around `main` (title, landmarks, navigation) once for each page of a console. All of
 * it in one browser page: a new one for each costs more than axe. `ready` resolves when the page shows what is checked, in each of the windows; parts of it that wait for their data or code
 * are waited for.
 */
export async function checkAccessibility(
  page: Page,
  what: string,
  ready: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const [wide, narrow] = SIZES;
  const checkedPage = pageWithoutIds(page);
  const within = checkedPages.has(checkedPage) ? "main" : undefined;
  const resize = async (size: (typeof SIZES)[number]): Promise<void> => {
    await page.setViewportSize(size);
    await page.evaluate(TWO_FRAMES);
    await ready();
    await loaded(page);
  };
  try {
    await resize(wide);
    expect(await axeViolations(page, ALL_RULES, within), `${what}, wide`).toEqual([]);
    expect(await widthOverflow(page), `${what}, wide`).toBe(0);
    await resize(narrow);
    expect(await axeViolations(page, COLOUR_RULES, within), `${what}, narrow`).toEqual([]);
    await setTheme(page, "dark");
    expect(await axeViolations(page, ALL_RULES, within), `${what}, narrow and dark`).toEqual([]);
    expect(await widthOverflow(page), `${what}, narrow`).toBe(0);
    await resize(wide);
    expect(await axeViolations(page, COLOUR_RULES, within), `${what}, wide and dark`).toEqual([]);
    checkedPages.add(checkedPage);
  } finally {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(SIZES[0]);
  }
}

/** Returns the page's address with `*` for what follows the name of the page, e.g. the id of a trace. */
function pageWithoutIds(page: Page): string {
  const { origin, pathname } = new URL(page.url());
  const [name = "", ...ids] = pathname.slice(1).split("/");
  return [origin, name, ...ids.map(() => "*")].join("/");
}

async function setTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html[data-theme="${theme}"]`).waitFor({ state: "attached" });
  await page.evaluate(TWO_FRAMES);
}
