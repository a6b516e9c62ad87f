import type { Page } from "playwright-core";

/** An address that no page of the console has. */
const NOWHERE = "/nowhere";
/** Maximum time for a navigation within the document: the machine may be busy. */
const NAVIGATION_MS = 20_000;
/** Maximum time for leaving a page at the end of a test. A page with unsaved changes asks first. */
const LEAVE_MS = 1_000;

/**
 * Navigates within the document. Resolves to true when the page for unknown addresses is shown (or gone), or to false
 * after a timeout.
 */
function push(path: string, isKnown: boolean, timeoutMs = NAVIGATION_MS): string {
  return `new Promise((resolve) => {
    const isThere = () => (document.getElementById("content")?.textContent ?? "").includes("Page not found") !== ${isKnown};
    const end = (result) => { observer.disconnect(); clearTimeout(timer); resolve(result); };
    const observer = new MutationObserver(() => { if (isThere()) end(true); });
    const timer = setTimeout(end, ${timeoutMs}, false);
    history.pushState(null, "", ${JSON.stringify(path)});
    observer.observe(document, { subtree: true, childList: true, characterData: true });
    if (isThere()) end(true);
  })`;
}

/**
 * Navigates to an address of the console without loading the document, as a link of the page does. Takes a fifth of the processor time of a load. The page that
 * is shown is removed first, so that the new one has no state but that of its address, also if both are the same page.
 */
export async function visit(page: Page, path: string): Promise<void> {
  await evaluateNavigation(page, path, `${push(NOWHERE, false)}.then((hasLeft) => hasLeft && ${push(path, true)})`);
}

/** Navigates away from where `resetDocument` left the document. */
export async function navigate(page: Page, path: string): Promise<void> {
  await evaluateNavigation(page, path, `localStorage.clear(); ${push(path, true)}`);
}

async function evaluateNavigation(page: Page, path: string, script: string): Promise<void> {
  if (!(await page.evaluate(script)))
    throw new Error(`the console did not show ${path} within ${NAVIGATION_MS / 1_000} s`);
}

/**
 * Removes the page of the console from the document and what the document remembers of it: cached results, the position
 * of the focus, browser storage. Returns false if another test must not use the document: it is not connected, shows a
 * message, or has preferences.
 */
export async function resetDocument(page: Page): Promise<boolean> {
  return (await page.evaluate(`(async () => {
    if (!(await ${push(NOWHERE, false, LEAVE_MS)})) return false;
    // Preferences are read when the document is loaded. Recent items are read whenever they are shown.
    const hasPreferences = Object.keys(localStorage).some((key) => key !== "svc.recent");
    localStorage.clear();
    // Connection, messages, dialogs.
    const states = [...document.querySelectorAll("[role=status], [role=alert], [role=dialog], [role=alertdialog]")].map(({ textContent }) => textContent);
    if (hasPreferences || states.filter((text) => text !== "").join() !== "Live") return false;
    ${REMOVE_QUERIES}
    // After an element with the focus was removed, Tab continues from its place. Here it begins at the top, as in a new document.
    const top = document.createElement("span");
    top.tabIndex = -1;
    document.body.prepend(top);
    top.focus();
    top.remove();
    return true;
  })()`)) as boolean;
}

/**
 * Removes cached results, so a test sees none of an earlier test. Found through React's internal data, because the page
 * exports nothing.
 */
const REMOVE_QUERIES = `
    const root = document.getElementById("root");
    let fiber = root[Object.keys(root).find((key) => key.startsWith("__reactContainer$"))].stateNode.current;
    while (fiber.memoizedProps?.client === undefined) fiber = fiber.child;
    fiber.memoizedProps.client.removeQueries({ type: "inactive" });`;

/** Runs a check for each case and reports all failures by name. */
export async function checkEach<Case>(
  cases: readonly Case[],
  nameOf: (each: Case) => string,
  check: (each: Case) => Promise<void>,
): Promise<void> {
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
