import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startBrowser } from "../../support/browser.ts";

// Starting a browser costs more than most tests do with it, and so does a page of its own: its process is started, and everything is compiled anew. So the
// files that one process of the test runner runs share a browser, which ends with that process; and a test is given a page that another one is done with, as
// if nobody had been there before. Between tests a page is at an address where there is nothing, and holds no socket of a console.

export type Theme = "light" | "dark";

interface Pages {
  readonly context: BrowserContext;
  readonly idle: Page[];
}

let shared: Promise<Browser> | undefined;
let pages: Partial<Record<Theme, Promise<Pages>>> = {};
let nowhere: Promise<string> | undefined;
const homes = new WeakMap<Page, Page[]>();

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

export async function takePage(theme: Theme): Promise<Page> {
  pages[theme] ??= openContext(theme);
  const { context, idle } = await pages[theme];
  const page = idle.pop() ?? (await context.newPage());
  homes.set(page, idle);
  // Why is not known, but after some tests Chromium drew a page that was not in front six or seven times a second only, until it was brought there; and
  // whatever waits for a frame waited as long.
  await page.bringToFront();
  return page;
}

/**
 * Undoes what tests do to a page: what it keeps, its routes, where it is, where the pointer is. A page of which that cannot be said, since it is at no
 * address of a console or does not answer, is closed. Nothing else of a page is undone: a test that changes it closes its page itself.
 */
export async function givePageBack(page: Page): Promise<void> {
  try {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.evaluate("sessionStorage.clear()");
    nowhere ??= serveNothing();
    await page.goto(await nowhere, { timeout: 5_000 });
    // Nothing is below it.
    await page.mouse.move(-1, -1);
    homes.get(page)?.push(page);
  } catch {
    await page.close();
  }
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
