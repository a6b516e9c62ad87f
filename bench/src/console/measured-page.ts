import type { Browser, CDPSession, Locator, Page } from "playwright-core";
import { within } from "../processes.ts";

/** Distance of one wheel event, in pixels. */
const WHEEL_PX = 3_000;
/** Number of wheel events down, and then up again. */
const TURNS = 120;
const MB = 1024 * 1024;

/** A page that records the duration of its tasks. The browser reports tasks of 50 ms and more as long. */
export class MeasuredPage {
  readonly page: Page;
  readonly #inspector: CDPSession;

  private constructor(page: Page, inspector: CDPSession) {
    this.page = page;
    this.#inspector = inspector;
  }

  /** Uses its own profile, so that the cache is empty. */
  static async open(browser: Browser): Promise<MeasuredPage> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript({
      content: `window.longTasks = [];
        new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true });`,
    });
    return new MeasuredPage(page, await context.newCDPSession(page));
  }

  /**
   * Visits the address. Resolves with the time until the JavaScript expression `isThere` is true, in milliseconds of
   * the page's clock.
   */
  async visit(url: string, isThere: string, timeoutMs: number): Promise<number> {
    await this.page.goto(url);
    return this.until(isThere, timeoutMs);
  }

  /**
   * Resolves with the time from the start of the visit until the expression is true, in milliseconds. Checks the
   * expression at each frame of the page.
   */
  async until(isThere: string, timeoutMs: number): Promise<number> {
    const look = `(${isThere}) ? done(performance.now()) : requestAnimationFrame(look)`;
    return within(
      timeoutMs,
      `not there: ${isThere}`,
      this.page.evaluate(`new Promise((done) => { const look = () => ${look}; look(); })`) as Promise<number>,
    );
  }

  /** Returns the duration of the longest task since the last call, in milliseconds. 0 if none took 50 ms. */
  async longestTaskMs(): Promise<number> {
    // Wait some frames, because the browser reports a task only after its end.
    await this.#frames(5);
    return (await this.page.evaluate("Math.max(0, ...window.longTasks.splice(0))")) as number;
  }

  /** Scrolls far down and up again, one wheel event per frame. */
  async wheel(over: Locator): Promise<void> {
    await over.hover();
    for (const direction of [1, -1]) {
      for (let turn = 0; turn < TURNS; turn++) {
        await this.page.mouse.wheel(0, direction * WHEEL_PX);
        await this.#frames(1);
      }
    }
  }

  /** Returns the page's JavaScript heap after a garbage collection. */
  async heapMb(): Promise<number> {
    await this.#inspector.send("HeapProfiler.collectGarbage");
    return ((await this.page.evaluate("performance.memory.usedJSHeapSize")) as number) / MB;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async #frames(count: number): Promise<void> {
    await this.page.evaluate(
      `new Promise((done) => { let left = ${count}; const next = () => (left-- > 0 ? requestAnimationFrame(next) : done()); next(); })`,
    );
  }
}
