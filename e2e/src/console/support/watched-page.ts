import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";

export interface WatchedPage {
  readonly page: Page;
  /** Everything that a page without fault does not do: errors in the console, uncaught ones, requests to other origins, what the security policy stopped. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

export interface PageOptions {
  readonly theme?: Theme;
  readonly width?: number;
  readonly height?: number;
  /** Texts of console errors that the test brings about, e.g. a request that the browser reports as failed. */
  readonly expected?: readonly RegExp[];
}

/**
 * Opens a page as in a browser that was never here. It is closed at the end of the test at the latest, and what goes wrong in it is written down: a test
 * whose page had a fault has failed.
 */
export async function openPage(browser: Browser, url: string, options: PageOptions = {}): Promise<WatchedPage> {
  const context = await contextOf(browser, options.theme ?? "light");
  const page = await context.newPage();
  await page.setViewportSize({ width: options.width ?? 1440, height: options.height ?? 900 });
  await page.addInitScript(FORGET_ONCE);
  page.setDefaultTimeout(20_000);
  const faults: string[] = [];
  const note = (fault: string): void => {
    if (!(options.expected ?? []).some((pattern) => pattern.test(fault))) faults.push(fault);
  };
  // A test that opens nothing at first is at home where it goes first.
  let home = url.startsWith("http") ? new URL(url) : undefined;
  // Registered before the page can fail, so that one that never opened is told of with its faults.
  onTestFinished(async () => {
    await page.close();
    expect(faults, `faults of the page opened as ${url}`).toEqual([]);
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") note(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (!asked.protocol.startsWith("http")) return;
    home ??= asked;
    if (asked.origin !== home.origin) note(`a request to another origin: ${request.url()}`);
  });
  page.on("websocket", (socket) => {
    if (new URL(socket.url()).host !== home?.host) note(`a socket to another origin: ${socket.url()}`);
  });
  await page.goto(url);
  return { page, faults, close: () => page.close() };
}

type Theme = "light" | "dark";
const contexts = new WeakMap<Browser, Map<Theme, Promise<BrowserContext>>>();

/**
 * All pages of a theme are in one context of the browser. A page of a new one costs three times as much, since its process and everything that was compiled
 * is thrown away with it; so one page stays open always, on what is no page of the console and asks nobody for anything.
 */
function contextOf(browser: Browser, theme: Theme): Promise<BrowserContext> {
  const ofThemes = contexts.get(browser) ?? new Map<Theme, Promise<BrowserContext>>();
  contexts.set(browser, ofThemes);
  const context = ofThemes.get(theme) ?? newContext(browser, theme);
  ofThemes.set(theme, context);
  return context;
}

async function newContext(browser: Browser, theme: Theme): Promise<BrowserContext> {
  const context = await browser.newContext({
    colorScheme: theme,
    timezoneId: "UTC",
    locale: "en-GB",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const kept = await context.newPage();
  await kept.route("http://localhost/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await kept.goto("http://localhost/");
  return context;
}

/** What an earlier page kept in the browser is gone before the first script of this one runs; what this one keeps stays. */
const FORGET_ONCE = `if (location.protocol.startsWith("http") && sessionStorage.getItem("opened") === null) {
  localStorage.clear();
  sessionStorage.setItem("opened", "yes");
}`;

/** Resolves when the page says that it is connected with the console and the engine. */
export async function live(page: Page): Promise<void> {
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
}

/** The page is not wider than the window. */
export async function widthOverflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") as Promise<number>;
}
