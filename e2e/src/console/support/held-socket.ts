import type { Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** Socket of a page whose messages are partly held until it is released. */
export interface HeldSocket {
  /** All messages of the page so far, as text. */
  readonly sent: readonly string[];
  /** Sends the held messages in order, and holds none from then on. */
  release(): void;
}

/**
 * Holds what the console sends to the page, or only those messages of the page that contain `sent`. Call it before the page opens
 * the console. It cannot be undone, so the page is closed at the end of the test.
 */
export async function holdSocket(page: Page, options: { readonly sent?: string } = {}): Promise<HeldSocket> {
  onTestFinished(() => page.close());
  const sent: string[] = [];
  const held: (() => void)[] = [];
  let isHolding = true;
  const pass = (isHeld: boolean, send: () => void): void => {
    if (isHolding && isHeld) held.push(send);
    else send();
  };
  await page.routeWebSocket("**/ws/console", (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      sent.push(String(message));
      pass(options.sent !== undefined && String(message).includes(options.sent), () => server.send(message));
    });
    server.onMessage((message) => pass(options.sent === undefined, () => socket.send(message)));
  });
  return {
    sent,
    release() {
      isHolding = false;
      for (const send of held) send();
    },
  };
}
