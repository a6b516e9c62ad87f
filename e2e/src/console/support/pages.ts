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

/** Started when it is asked for first, and anew should it have crashed. */
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
  // Why is not known, but after some tests Chromium drew a page that was not in front six or seven times a second only, until it was brought there; and
  // whatever waits for a frame waited as long.
  await page.bringToFront();
  return page;
}

/** Shows an address of a console in a page from `takePage`: in the document that the page has, if `reuse` is true and it may be used, else in a new one. */
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
 * Undoes what tests do to a page: what it keeps, its routes, where it is, where the pointer and the focus are. A page of which that cannot be said, since it is
 * at no address of a console or does not answer, is closed. Nothing else of a page is undone: a test that changes it closes its page itself.
 */
export async function givePageBack(page: Page): Promise<void> {
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    const mayKeep = keptOrigins.has(originOf(page)) && loadedIn.get(page) === generation;
    if (!mayKeep || !(await resetDocument(page))) await leaveConsole(page);
    // Nothing is below it.
    await page.mouse.move(-1, -1);
    homes.get(page)?.push(page);
  } catch {
    await page.close();
  }
}

/** Navigates to an address where there is nothing. */
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
    // A fade is drawn many times, and waited for.
    reducedMotion: "reduce",
    timezoneId: "UTC",
    locale: "en-GB",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await context.addInitScript(FORGET_ONCE);
  return { context, idle: [] };
}

/** What an earlier page kept in the browser is gone before the first script of this one runs; what this one keeps stays. */
const FORGET_ONCE = `if (location.protocol.startsWith("http") && sessionStorage.getItem("opened") === null) {
  sessionStorage.clear();
  localStorage.clear();
  sessionStorage.setItem("opened", "yes");
}`;

/** On localhost as consoles are, so that the page keeps its process. */
async function serveNothing(): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(200, { "content-type": "text/html", connection: "close" }).end());
  await once(server.listen(0, "localhost"), "listening");
  server.unref();
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}
