import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** Socket of a page that receives nothing from the console until it is released. */
export interface HeldSocket {
  /** All messages of the page so far, as text. */
  readonly sent: readonly string[];
  release(): void;
}

/** Call it before the page opens the console. It cannot be undone, so the page is closed at the end of the test. */
export async function holdSocket(page: Page): Promise<HeldSocket> {
  onTestFinished(() => page.close());
  const sent: string[] = [];
  const held: (() => void)[] = [];
  let isHolding = true;
  await page.routeWebSocket("**/ws/console", (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      sent.push(String(message));
      server.send(message);
    });
    server.onMessage((message) => {
      if (isHolding) held.push(() => socket.send(message));
      else socket.send(message);
    });
  });
  return {
    sent,
    release() {
      isHolding = false;
      for (const send of held) send();
    },
  };
}
