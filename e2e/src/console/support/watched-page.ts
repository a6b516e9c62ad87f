import type { ConsoleMessage, Page, Request, WebSocket } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { addEvidence } from "../../support/evidence.ts";
import { discardDocuments, givePageBack, show, type Theme, takePage } from "./pages.ts";

export interface WatchedPage {
  readonly page: Page;
  /**
   * Problems of the page: console errors, uncaught errors, requests to other origins, violations of the security
   * policy.
   */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

export interface PageOptions {
  readonly theme?: Theme;
  readonly width?: number;
  readonly height?: number;
  /** Console errors that the test causes, e.g. a request that the browser reports as failed. */
  readonly expected?: readonly RegExp[];
  /**
   * `new`: a document that no earlier test has used, e.g. if what the document remembers has to be empty. `any`: one that an earlier test has loaded, if there is
   * one. Default `new` for addresses of `REMEMBERING`, else `any`.
   */
  readonly document?: "any" | "new";
}

/**
 * Pages that remember in the document what they showed or what was typed, also while another page is shown. Their tests need a new document, except if no
 * other test of the file uses the same function or HTTP trigger.
 */
const REMEMBERING = /^\/(streams|triggers|workers)\b|[?&]tab=invoke\b/;

/**
 * Opens a page as in a fresh browser. It is closed at the latest at the end of the test. The test fails if the page has
 * a problem.
 */
export async function openPage(url: string, options: PageOptions = {}): Promise<WatchedPage> {
  const target = url.startsWith("http") ? new URL(url) : undefined;
  const page = await takePage(options.theme ?? "light", target?.origin);
  const { width = 1440, height = 900 } = options;
  const size = page.viewportSize();
  if (size?.width !== width || size.height !== height) await page.setViewportSize({ width, height });
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  const note = (fault: string): void => {
    if (!(options.expected ?? []).some((pattern) => pattern.test(fault))) faults.push(fault);
  };
  // For a test that opens no page at first, the first address decides the origin.
  let home = target;
  const unwatch = watch(page, note, (asked) => (home ??= asked));
  const removeEvidence = [
    addEvidence({ kind: "page", extension: "png", read: () => page.screenshot() }),
    addEvidence({
      kind: "page",
      extension: "html",
      read: async () => `<!-- ${page.url()} -->\n${await page.content()}`,
    }),
    addEvidence({ kind: "page-faults", extension: "txt", read: async () => faults.join("\n") }),
  ];
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    for (const remove of removeEvidence) remove();
    unwatch();
    await givePageBack(page);
  };
  // Registered before the page can fail, so the problems of a page that never opened are reported too.
  onTestFinished(async ({ task }) => {
    // The state after a failed test is unknown.
    if (task.result?.state === "fail") discardDocuments();
    await close();
    expect(faults, `faults of the page opened as ${url}`).toEqual([]);
  });
  if (target === undefined) await page.goto(url);
  else await show(page, url, (options.document ?? defaultDocument(target)) === "any");
  return { page, faults, close };
}

function defaultDocument({ pathname, search }: URL): "any" | "new" {
  return REMEMBERING.test(pathname + search) ? "new" : "any";
}

/** Records problems of the page. `homeOf` gets each requested address and returns the origin of the page. */
function watch(page: Page, note: (fault: string) => void, homeOf: (asked: URL) => URL): () => void {
  const onConsole = (message: ConsoleMessage): void => {
    if (message.type() === "error" || message.type() === "warning")
      note(`console ${message.type()}: ${message.text()}`);
  };
  const onError = (error: Error): void => note(`uncaught: ${error.message}`);
  const onRequest = (request: Request): void => {
    const asked = new URL(request.url());
    if (asked.protocol.startsWith("http") && asked.origin !== homeOf(asked).origin)
      note(`a request to another origin: ${request.url()}`);
  };
  const onSocket = (socket: WebSocket): void => {
    const asked = new URL(socket.url());
    if (asked.host !== homeOf(asked).host) note(`a socket to another origin: ${socket.url()}`);
  };
  page.on("console", onConsole).on("pageerror", onError).on("request", onRequest).on("websocket", onSocket);
  return () =>
    page.off("console", onConsole).off("pageerror", onError).off("request", onRequest).off("websocket", onSocket);
}

/** Resolves when the page shows that it is connected to the console and the engine. */
export async function live(page: Page): Promise<void> {
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
}

/** What pages show in place of data or code that has not arrived. The second catalogue of `labels.test.ts` adds brackets. */
const LOADING = /^⟦?(?:Loading|Laying out)\b/;

/** Resolves when no part of the page waits for data or code. A page that was just opened may not show that yet. */
export async function loaded(page: Page): Promise<void> {
  const content = page.locator("#content");
  await content
    .getByRole("status", { name: LOADING })
    .or(content.getByText(LOADING))
    .or(content.locator(".animate-pulse"))
    .first()
    .waitFor({ state: "detached" });
}

/** Returns by how many pixels the page is wider than the window. */
export async function widthOverflow(page: Page): Promise<number> {
  return page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  ) as Promise<number>;
}

/** Opens a page of the console and resolves when it is live. */
export async function openLive(url: string, options: PageOptions = {}): Promise<WatchedPage> {
  const watched = await openPage(url, options);
  await live(watched.page);
  return watched;
}
