import { randomUUID } from "node:crypto";
import {
  encodeNodeFrame,
  encodeNodeHello,
  encodeNodeMessage,
  type NodeHello,
  type NodeMessageHead,
  splitNodeFrame,
} from "@svc-runtime/protocol/nodes";
import type { NodeLink } from "../node-link.ts";

/** A run whose messages a test writes by hand, to break rules. */
export class Stranger {
  readonly run = randomUUID();
  readonly link: NodeLink;
  readonly hello: NodeHello;
  #n = 0;

  constructor(link: NodeLink, hello: Partial<NodeHello> = {}) {
    this.link = link;
    this.hello = {
      ...{ run: this.run, node: `n-${this.run}`, name: "stranger", started_at_ms: 1 },
      ...{ versions: { min: 1, max: 1 }, state: "up", load: 0 },
      ...hello,
    };
    link.listen(this.run, () => {});
  }

  sayHello(): void {
    this.link.sendToAll(encodeNodeHello(this.hello));
  }

  introduce(run: string): void {
    this.send(run, [encodeNodeFrame({ type: "hello", hello: this.hello })]);
  }

  send(run: string, frames: readonly Uint8Array[], head: Partial<NodeMessageHead> = {}): void {
    this.#n++;
    const message = encodeNodeMessage(
      { from: this.run, session: 1, n: this.#n, ack: 0, granted: 1_000_000, ...head },
      frames.flatMap((frame) => splitNodeFrame(frame)),
    );
    this.link.send(run, message);
  }
}
