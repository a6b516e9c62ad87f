import { randomUUID } from "node:crypto";
import { MAX_NODE_MESSAGE_BYTES } from "@svc-runtime/protocol/nodes";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Undo } from "../../scope.ts";
import type { NodeLink } from "../node-link.ts";

/** One network, as three engines reach it. Faults are off. */
export type SuiteLinks = readonly [NodeLink, NodeLink, NodeLink];

/** What one run receives. */
class Inbox {
  readonly run = randomUUID();
  readonly received: string[] = [];
  #wake = (): void => {};

  readonly onMessage = (message: Uint8Array): void => {
    this.received.push(Buffer.from(message).toString());
    this.#wake();
  };

  /** Resolves when this many messages were received. */
  async count(wanted: number): Promise<void> {
    while (this.received.length < wanted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}

/** Guarantees of every link. */
export function linkSuite(name: string, open: () => Promise<SuiteLinks>): void {
  describe(`messages over ${name}`, () => {
    let links: SuiteLinks;
    let inboxes: readonly [Inbox, Inbox, Inbox];
    let closes: Undo[];
    const probe = (link: NodeLink, run: string): Promise<boolean> => new Promise((resolve) => link.probe(run, resolve));
    beforeEach(async () => {
      links = await open();
      inboxes = [new Inbox(), new Inbox(), new Inbox()];
      closes = links.map((link, at) => {
        const { run, onMessage } = inboxes[at] as Inbox;
        return link.listen(run, onMessage);
      });
      // A network may need some time until all of it knows who listens.
      for (const [from, link] of links.entries())
        for (const [to, { run }] of inboxes.entries()) if (from !== to) while (!(await probe(link, run)));
    });
    afterEach(() => {
      for (const close of closes) close();
    });

    it("reach the run that they are sent to, in order, and nobody else", async () => {
      const [a, b, c] = inboxes;
      const sent = Array.from({ length: 500 }, (_, at) => `message ${at}`);
      for (const text of sent) links[0].send(b.run, Buffer.from(text));
      links[0].send(c.run, Buffer.from("last"));
      await Promise.all([b.count(500), c.count(1)]);
      expect(b.received).toEqual(sent);
      expect([a.received, c.received]).toEqual([[], ["last"]]);
    });

    it("reach all other runs if they are sent to all", async () => {
      const [a, b, c] = inboxes;
      links[1].sendToAll(Buffer.from("hello"));
      await Promise.all([a.count(1), c.count(1)]);
      // What follows shows that the sender did not get the first one.
      links[0].send(b.run, Buffer.from("you too"));
      await b.count(1);
      expect([a.received, b.received, c.received]).toEqual([["hello"], ["you too"], ["hello"]]);
    });

    it("are never received before the sender continues", async () => {
      const [, b] = inboxes;
      links[0].send(b.run, Buffer.from("x"));
      expect(b.received).toEqual([]);
      await b.count(1);
    });

    it("can be as large as the limit, and arrive byte for byte", async () => {
      const [, b] = inboxes;
      const text = "x".repeat(MAX_NODE_MESSAGE_BYTES - 1);
      links[0].send(b.run, Buffer.from(`${text}y`));
      await b.count(1);
      expect(b.received[0] === `${text}y`).toBe(true);
    });

    it("to a run that does not listen any more are lost, and a probe says so", async () => {
      const [a, b] = inboxes;
      expect(await probe(links[0], b.run)).toBe(true);
      closes[1]?.();
      links[0].send(b.run, Buffer.from("late"));
      expect(await probe(links[0], b.run)).toBe(false);
      expect(await probe(links[0], randomUUID())).toBe(false);
      links[2].send(a.run, Buffer.from("still here"));
      await a.count(1);
      expect([a.received, b.received]).toEqual([["still here"], []]);
    });
  });
}
