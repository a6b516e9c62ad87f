// The process of `BrowserProcess`: drives a browser. Receives one request at a time from its parent process.

import { startBrowser } from "@svc-runtime/e2e/browser";
import { startCountedProxy } from "@svc-runtime/e2e/counted-proxy";
import type { BrowserReply, BrowserRequest } from "./browser-process.ts";
import { PROXY_HOST } from "./console-process.ts";
import { MeasuredPage } from "./measured-page.ts";

const OPEN_TIMEOUT_MS = 60_000;

process.on("disconnect", () => process.exit(0));
const browser = await startBrowser().catch((error: Error) => {
  process.send?.({ error: error.message } satisfies BrowserReply, () => process.exit(1));
  return new Promise<never>(() => {});
});
let shown: MeasuredPage | undefined;

async function perform(request: BrowserRequest): Promise<BrowserReply> {
  switch (request.kind) {
    case "open":
      if (shown !== undefined) throw new Error("a page is open");
      shown = await MeasuredPage.open(browser);
      await shown.visit(request.url, request.isThere, OPEN_TIMEOUT_MS);
      return {};
    case "read":
      if (shown === undefined) throw new Error("no page is open");
      return { text: (await shown.page.evaluate("document.body.innerText")) as string };
    case "close":
      await shown?.close();
      shown = undefined;
      return {};
    case "first-load":
      return { transfers: await firstLoad(request) };
  }
}

/** Loads a page with an empty cache. Resolves when the page and `isWhole` are there and no request is left. */
async function firstLoad({ url, isThere, isWhole }: Extract<BrowserRequest, { kind: "first-load" }>) {
  const { port, pathname } = new URL(url);
  const proxy = await startCountedProxy(Number(port));
  const measured = await MeasuredPage.open(browser);
  try {
    let requests = 0;
    measured.page.on("request", () => requests++).on("websocket", () => requests++);
    await measured.visit(`http://${PROXY_HOST}:${proxy.port}${pathname}`, isThere, OPEN_TIMEOUT_MS);
    await measured.until(isWhole, OPEN_TIMEOUT_MS);
    await measured.page.waitForLoadState("networkidle", { timeout: OPEN_TIMEOUT_MS });
    return { requests, kb: proxy.bytes() / 1024 };
  } finally {
    await measured.close();
    await proxy.close();
  }
}

process.on("SIGTERM", () => void browser.close().finally(() => process.exit(0)));
process.send?.({ ready: true });
process.on("message", (request: BrowserRequest) => {
  perform(request).then(
    (reply) => process.send?.(reply),
    (error: Error) => process.send?.({ error: error.message } satisfies BrowserReply),
  );
});
