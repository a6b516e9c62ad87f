import type { Worker } from "@svc-runtime/sdk";
import type { Page } from "playwright-core";
import { beforeAll } from "vitest";
import { systemOfFile } from "./of-file.ts";
import type { RunningSystem, SystemOptions } from "./running-system.ts";
import { openLive, type PageOptions, type WatchedPage } from "./watched-page.ts";

/** Shared setup of the tests of the States page; ready when the tests run. */
export interface StatesScene {
  readonly system: RunningSystem;
  readonly worker: Worker;
  set(scope: string, key: string, value: unknown): Promise<unknown>;
  get(scope: string, key: string): Promise<unknown>;
  /** As exact text, directly from the engine. */
  raw(functionId: string, payload: string): Promise<string>;
  /** Opens the page at a path and waits until it is live. */
  states(path: string, options?: PageOptions): Promise<WatchedPage>;
}

/** Starts a system for all tests of the file. */
export function statesScene(options: SystemOptions = {}): StatesScene {
  const system = systemOfFile(options);
  let worker: Worker;
  beforeAll(async () => {
    worker = await system.worker("shop");
  });
  return {
    system,
    get worker() {
      return worker;
    },
    set: (scope, key, value) => worker.call({ function_id: "state::set", payload: { scope, key, value } }),
    get: (scope, key) => worker.call({ function_id: "state::get", payload: { scope, key } }),
    async raw(functionId, payload) {
      const response = await fetch(`http://localhost:${system.ports.http}/_console/invoke`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"function_id":"${functionId}","payload":${payload}}`,
      });
      return response.text();
    },
    states: (path, options = {}) => openLive(`${system.console.url}/states${path}`, options),
  };
}

export const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });
export const editor = (page: Page) => page.getByRole("textbox", { name: /^Value of / });

/** The editor is loaded on first use; until then its text is shown read-only. */
export const ready = (page: Page) => page.locator(".cm-content").waitFor();

/** Replaces the content of the editor. */
export async function type(page: Page, text: string): Promise<void> {
  await ready(page);
  await editor(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
