import type { Browser, CDPSession, Locator, Page } from "playwright-core";
import { within } from "../processes.ts";

/** How far one turn of the wheel goes, in pixels. */
const WHEEL_PX = 3_000;
/** Turns of the wheel down, and as many up again. */
const TURNS = 120;
const MB = 1024 * 1024;

/** A page that keeps how long its tasks took. The browser counts as long what takes 50 ms and more. */
export class MeasuredPage {
  readonly page: Page;
  readonly #inspector: CDPSession;

  private constructor(page: Page, inspector: CDPSession) {
    this.page = page;
    this.#inspector = inspector;
  }

  /** In a profile of its own: nothing is in its cache. */
  static async open(browser: Browser): Promise<MeasuredPage> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript({
      content: `window.longTasks = [];
        new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true });`,
    });
    return new MeasuredPage(page, await context.newCDPSession(page));
  }

  /** Visits the address. Resolves with the milliseconds until `isThere`, a JavaScript expression, holds, by the page's own clock. */
  async visit(url: string, isThere: string, timeoutMs: number): Promise<number> {
    await this.page.goto(url);
    return this.until(isThere, timeoutMs);
  }

  /** Milliseconds from the beginning of the visit until the expression holds; it is looked at with each frame. */
  async until(isThere: string, timeoutMs: number): Promise<number> {
    const look = `(${isThere}) ? done(performance.now()) : requestAnimationFrame(look)`;
    return within(timeoutMs, `not there: ${isThere}`, this.page.evaluate(`new Promise((done) => { const look = () => ${look}; look(); })`) as Promise<number>);
  }

  /** Milliseconds of the longest task since it was asked for last; 0 where none took 50 ms. */
  async longestTaskMs(): Promise<number> {
    // The browser tells of a task after it has ended.
    await this.#frames(5);
    return (await this.page.evaluate("Math.max(0, ...window.longTasks.splice(0))")) as number;
  }

  /** Turns the wheel far down and up again, as fast as frames come. */
  async wheel(over: Locator): Promise<void> {
    await over.hover();
    for (const direction of [1, -1]) {
      for (let turn = 0; turn < TURNS; turn++) {
        await this.page.mouse.wheel(0, direction * WHEEL_PX);
        await this.#frames(1);
      }
    }
  }

  /** What the page's JavaScript holds once everything unreachable is gone. */
  async heapMb(): Promise<number> {
    await this.#inspector.send("HeapProfiler.collectGarbage");
    return ((await this.page.evaluate("performance.memory.usedJSHeapSize")) as number) / MB;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async #frames(count: number): Promise<void> {
    await this.page.evaluate(`new Promise((done) => { let left = ${count}; const next = () => (left-- > 0 ? requestAnimationFrame(next) : done()); next(); })`);
  }
}
