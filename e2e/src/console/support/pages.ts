import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";

// A page of its own costs more than most tests do with it: its process is started, and everything is compiled anew. So a test is given a page that another
// one is done with, as if nobody had been there before. Between tests a page is at an address where there is nothing, and holds no socket of a console.

export type Theme = "light" | "dark";

interface Pages {
  readonly context: BrowserContext;
  readonly idle: Page[];
}

const pagesOf = new WeakMap<Browser, Partial<Record<Theme, Promise<Pages>>>>();
const homes = new WeakMap<Page, Page[]>();
let nowhere: Promise<string> | undefined;

export async function takePage(browser: Browser, theme: Theme): Promise<Page> {
  const ofThemes = pagesOf.get(browser) ?? {};
  pagesOf.set(browser, ofThemes);
  ofThemes[theme] ??= openContext(browser, theme);
  const { context, idle } = await ofThemes[theme];
  const page = idle.pop() ?? (await context.newPage());
  homes.set(page, idle);
  return page;
}

/**
 * Undoes what tests do to a page: what it keeps, its routes, where it is, where the pointer is. A page of which that cannot be said, since it is at no
 * address of a console or does not answer, is closed; and a test that does what is not in this list has to close its page itself.
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

async function openContext(browser: Browser, theme: Theme): Promise<Pages> {
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
