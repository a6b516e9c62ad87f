import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startBrowser } from "../../support/browser.ts";
import { navigate, resetDocument } from "./visit.ts";

// Starting a browser takes longer than most tests do with it. A new page takes long too: its process is started, and all code is compiled again. So the files
// that run in one process share a browser, which ends with that process, and a test gets a page that an earlier test has finished with. If the earlier test
// used the same console, the test also gets the loaded document: a load takes five times the processor time of a navigation within the document.

export type Theme = "light" | "dark";

interface Pages {
  readonly context: BrowserContext;
  readonly idle: Page[];
}

let shared: Promise<Browser> | undefined;
let pages: Partial<Record<Theme, Promise<Pages>>> = {};
let nowhere: Promise<string> | undefined;
const homes = new WeakMap<Page, Page[]>();
/** Origins of consoles whose documents are kept for later tests. */
const keptOrigins = new Set<string>();
/** The value of `generation` when the page's document was loaded. */
const loadedIn = new WeakMap<Page, number>();
/** Documents of an earlier generation are not kept. */
let generation = 0;

/** Started on first use, and again if it has crashed. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser().then((browser) =>
    browser.once("disconnected", () => {
      shared = undefined;
      pages = {};
    }),
  );
  return shared;
}

/** Keeps documents of a console for later tests, until the returned function is called. That function removes the document from each idle page. */
export function keepDocuments(origin: string): () => Promise<void> {
  keptOrigins.add(origin);
  return async () => {
    keptOrigins.delete(origin);
    // Otherwise such a page would try indefinitely to connect to the stopped console.
    for (const { idle } of await Promise.all(Object.values(pages))) {
      const here = idle.filter((page) => originOf(page) === origin);
      await Promise.all(
        here.map((page) =>
          leaveConsole(page).catch(() => {
            idle.splice(idle.indexOf(page), 1);
            return page.close();
          }),
        ),
      );
    }
  };
}

/** Has later tests load a new document. For what a document remembers and cannot be undone, e.g. that the engine was restarted. */
export function discardDocuments(): void {
  generation++;
}

/** Returns an idle page, or a new one. Prefers a page with a loaded document of the console at `origin`. */
export async function takePage(theme: Theme, origin: string | undefined): Promise<Page> {
  pages[theme] ??= openContext(theme);
  const { context, idle } = await pages[theme];
  const at = idle.findLastIndex((page) => originOf(page) === origin);
  const page = idle.splice(at, 1)[0] ?? (await context.newPage());
  homes.set(page, idle);
  // A document of another console may still be loading parts of itself, which must not count as requests of this test.
  if (originOf(page) !== origin && keptOrigins.has(originOf(page))) await leaveConsole(page);
  // For an unknown reason Chromium draws a background page only six or seven times a second after some tests, which
  // delays everything that waits for a frame. Bringing it to the front helps.
  await page.bringToFront();
  return page;
}

/**
 * Shows an address of a console in a page from `takePage`: in its current document if `reuse` is true and that is
 * possible, else in a new one.
 */
export async function show(page: Page, url: string, reuse: boolean): Promise<void> {
  const { origin, pathname, search, hash } = new URL(url);
  if (originOf(page) === origin) {
    if (reuse && loadedIn.get(page) === generation) return navigate(page, pathname + search + hash);
    await page.evaluate("sessionStorage.clear()");
  }
  loadedIn.set(page, generation);
  await page.goto(url);
}

/**
 * Resets a page: storage, routes, address, pointer and focus. Closes a page that cannot be reset because it is at no
 * address of a console or does not respond. Nothing else is reset: a test that changes more closes its page itself.
 */
export async function givePageBack(page: Page): Promise<void> {
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    const mayKeep = keptOrigins.has(originOf(page)) && loadedIn.get(page) === generation;
    if (!mayKeep || !(await resetDocument(page))) await leaveConsole(page);
    // Nothing is under the pointer there.
    await page.mouse.move(-1, -1);
    homes.get(page)?.push(page);
  } catch {
    await page.close();
  }
}

/** Navigates to an address without a page. */
async function leaveConsole(page: Page): Promise<void> {
  await page.evaluate("sessionStorage.clear()");
  nowhere ??= serveNothing();
  await page.goto(await nowhere, { timeout: 5_000 });
}

function originOf(page: Page): string {
  return new URL(page.url()).origin;
}

async function openContext(theme: Theme): Promise<Pages> {
  const browser = await sharedBrowser();
  const context = await browser.newContext({
    colorScheme: theme,
    // Fades take many frames and are waited for.
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await context.addInitScript(FORGET_ONCE);
  return { context, idle: [] };
}

/**
 * Clears what an earlier page stored in the browser before the first script of this page runs; what this page stores
 * stays.
 */
const FORGET_ONCE = `if (location.protocol.startsWith("http") && sessionStorage.getItem("opened") === null) {
  sessionStorage.clear();
  localStorage.clear();
  sessionStorage.setItem("opened", "yes");
}`;

/** On localhost, like consoles, so the page keeps its process. */
async function serveNothing(): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(200, { "content-type": "text/html", connection: "close" }).end(),
  );
  await once(server.listen(0, "localhost"), "listening");
  server.unref();
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}
