import { randomUUID } from "node:crypto";
import {
  encodeNodeFrame,
  encodeNodeMessage,
  MAX_NODE_FRAME_BYTES,
  type NodeFrame,
  type NodeHello,
} from "@svc-runtime/protocol/nodes";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { createLogger, type LogRecord } from "../logger.ts";
import { ThrottledLog } from "../throttled-log.ts";
import type { Peer } from "./peer.ts";
import { PeerTable } from "./peer-table.ts";
import { Stranger } from "./testing/stranger.ts";
import { TestNetwork } from "./testing/test-network.ts";

let net: TestNetwork;
beforeEach(() => {
  net = new TestNetwork();
});

/** A node that writes down what happens to its peers. */
class TestNode {
  readonly run = randomUUID();
  readonly events: string[] = [];
  readonly items: string[] = [];
  readonly logs: LogRecord[] = [];
  readonly table: PeerTable;
  readonly name: string;

  constructor(name: string, { node = name, startedAtMs = 1, load = (): number => 0 } = {}) {
    this.name = name;
    const log = createLogger({ level: "debug", now: () => 0, write: (record) => this.logs.push(record) });
    this.table = new PeerTable({
      self: { run: this.run, node, name, startedAtMs },
      link: net.network.connect(),
      clock: net.clock,
      log,
      throttledLog: new ThrottledLog(net.clock),
      defer: net.defer,
      load,
      clockState: () => "right",
      listener: {
        onOpened: (peer) => this.onOpened(peer),
        onUp: ({ name: peer }) => this.events.push(`${peer} up`),
        onFrame: (_peer, frame, payload) => {
          if (frame.type === "item") this.items.push(Buffer.from(payload).toString());
        },
        onChanged: ({ name: peer, hello }) => this.events.push(`${peer} ${hello?.state} ${hello?.load}`),
        onGone: ({ name: peer, hello }, reason) => hello && this.events.push(`${peer} gone: ${reason}`),
      },
    });
  }

  onOpened: (peer: Peer) => void = () => {};

  start(): this {
    this.table.start();
    return this;
  }

  peer(other: { readonly run: string }): Peer {
    const peer = this.table.byRun(other.run);
    if (peer === undefined) throw new Error("there is no such peer");
    return peer;
  }

  send(other: { readonly run: string }, text: string): void {
    this.peer(other).send({ type: "item", channel: 1, kind: "text" }, Buffer.from(text));
  }
}

/** A stranger whose messages arrive at once. */
class QuickStranger extends Stranger {
  override send(...message: Parameters<Stranger["send"]>): void {
    super.send(...message);
    net.settle();
  }
}

function newStranger(hello: Partial<NodeHello> = {}): Stranger {
  return new QuickStranger(net.network.connect(), hello);
}

function two(): [TestNode, TestNode] {
  const nodes: [TestNode, TestNode] = [new TestNode("a").start(), new TestNode("b").start()];
  net.settle();
  return nodes;
}

describe("presence", () => {
  it("two runs know each other after one exchange, and what is sent at the opening comes right after", () => {
    const a = new TestNode("a");
    a.onOpened = (peer) => peer.send({ type: "item", channel: 1, kind: "text" }, Buffer.from("first"));
    a.start();
    net.settle();
    const b = new TestNode("b").start();
    net.settle();
    expect([a.events, b.events, b.items]).toEqual([["b up"], ["a up"], ["first"]]);
  });

  it("a run that stops is gone at once", () => {
    const [a, b] = two();
    b.table.stop();
    net.settle();
    expect(a.events).toEqual(["b up", "b gone: it stops"]);
    const gone = ({ logs }: TestNode) => logs.filter(({ message }) => message === "a node is gone").length;
    // Its peers are still there when it stops.
    expect([gone(a), gone(b)]).toEqual([1, 0]);
  });

  it("a killed run is gone after 3.3 s at the latest, and not before 2.8 s", () => {
    const [a, b] = two();
    net.network.kill(b.run);
    net.advance(2_800);
    expect(a.events).toEqual(["b up"]);
    net.advance(500);
    expect(a.events).toEqual(["b up", "b gone: it has been disconnected for 2.8 s"]);
  });

  it("a run that listens again just before it would be gone is asked once more, and stays", () => {
    const [a, b] = two();
    net.network.kill(b.run);
    net.advance(3_100);
    net.network.connect().listen(b.run, () => {});
    net.advance(1_000);
    expect(a.events).toEqual(["b up"]);
  });

  it("a silent run is gone after 6 s, and not before; a paused one comes back in a new session", () => {
    const [a, b] = two();
    net.network.pause(b.run);
    net.network.partition(() => true);
    net.advance(5_500);
    expect(a.events).toEqual(["b up"]);
    net.advance(1_500);
    expect(a.events).toEqual(["b up", "b gone: it was silent for 6 s"]);
    net.network.resume(b.run);
    net.network.heal();
    net.advance(1_100);
    expect(a.events.at(-1)).toBe("b up");
    expect(b.events.at(-1)).toBe("a up");
    a.send(b, "again");
    net.settle();
    expect(b.items).toEqual(["again"]);
  });

  it("a short partition costs a delay and nothing else", () => {
    const [a, b] = two();
    net.network.partition(() => true);
    for (let at = 0; at < 20; at++) {
      a.send(b, `${at}`);
      net.settle();
    }
    net.advance(2_000);
    net.network.heal();
    net.advance(1_200);
    expect(b.items).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
    expect([a.events, b.events]).toEqual([["b up"], ["a up"]]);
  });

  it("a run whose side gave up the other fails what the other still believes in", () => {
    const [a, b] = two();
    // Only what b sends is lost, so that only a gives up.
    net.network.faults.copies = (from) => (from === b.run ? 0 : 1);
    net.advance(7_000);
    expect(a.events).toContain("b gone: it was silent for 6 s");
    net.network.faults.copies = () => 1;
    net.advance(1_100);
    expect(b.events.slice(-2)).toEqual(["a gone: it began a new session", "a up"]);
    expect(a.events.at(-1)).toBe("b up");
  });

  it("a node that started again replaces its former run at once, and the former run does not come back", () => {
    const a = new TestNode("a").start();
    const former = new TestNode("b", { startedAtMs: 10 }).start();
    net.settle();
    const later = new TestNode("b2", { node: "b", startedAtMs: 20 }).start();
    net.settle();
    expect(a.events).toEqual(["b up", "b gone: its node started again", "b2 up"]);
    net.advance(2_000);
    expect(a.events.slice(3).filter((event) => event.startsWith("b "))).toEqual([]);
    expect(former.events).toContain("a up");
    expect(later.table.byRun(a.run)).toBeDefined();
  });

  it("reports load and draining", () => {
    const a = new TestNode("a").start();
    let load = 0;
    const b = new TestNode("b", { load: () => load }).start();
    net.settle();
    load = 7;
    net.advance(1_000);
    b.table.setState("draining");
    net.settle();
    expect(a.events).toEqual(["b up", "b up 7", "b draining 7"]);
    expect(a.peer(b).isDraining).toBe(true);
  });

  it("ignores a copy of its own data folder and versions that it cannot talk to", () => {
    const a = new TestNode("a").start();
    new TestNode("copy", { node: "a" }).start();
    net.settle();
    expect(a.events).toEqual([]);
    expect(a.logs.map(({ message }) => message)).toContain(
      "a node was ignored: it has this node's data folder, or a copy of it",
    );
    const stranger = newStranger({ versions: { min: 2, max: 3 } });
    stranger.sayHello();
    net.settle();
    expect(a.table.byRun(stranger.run)).toBeUndefined();
    expect(a.logs.at(-1)?.message).toBe("a node was ignored, because its version cannot talk to this one");
  });
});

describe("frames", () => {
  it("arrive once and in order, whatever the network loses, repeats and delays", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(0, 1, 1, 1, 2), { minLength: 5, maxLength: 60 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 20 }),
        fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 40 }),
        (copies, delays, pauses) => {
          net = new TestNetwork();
          const [a, b] = two();
          let at = 0;
          net.network.faults.copies = () => copies[at++ % copies.length] ?? 1;
          net.network.faults.delayMs = () => delays[at % delays.length] ?? 0;
          const sent = pauses.map((pause, index) => {
            a.send(b, `a${index}`);
            b.send(a, `b${index}`);
            net.advance(pause);
            return index;
          });
          net.network.faults.copies = () => 1;
          net.network.faults.delayMs = () => 0;
          net.advance(5_000);
          expect(b.items).toEqual(sent.map((index) => `a${index}`));
          expect(a.items).toEqual(sent.map((index) => `b${index}`));
          expect([a.events, b.events]).toEqual([["b up"], ["a up"]]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("that were lost are sent again as soon as later ones arrive, without waiting for a time", () => {
    const [a, b] = two();
    net.network.faults.copies = () => 0;
    a.send(b, "lost");
    net.settle();
    net.network.faults.copies = () => 1;
    a.send(b, "behind it");
    net.settle();
    expect(b.items).toEqual(["lost", "behind it"]);
  });

  it("of one tick travel in one message", () => {
    const [a, b] = two();
    net.advance(100);
    let messages = 0;
    net.network.faults.copies = (from) => {
      if (from === a.run) messages++;
      return 1;
    };
    for (let at = 0; at < 100; at++) a.send(b, `${at}`);
    net.settle();
    expect([messages, b.items.length]).toEqual([1, 100]);
  });

  it("as large as the limit pass through the window, and others wait behind them", () => {
    const [a, b] = two();
    const large = "x".repeat(MAX_NODE_FRAME_BYTES - 1_000);
    a.send(b, large);
    a.send(b, "behind");
    net.settle();
    expect(b.items.map(({ length }) => length)).toEqual([large.length, 6]);
  });

  it("of a session that ended never reach the next one", () => {
    const [a, b] = two();
    net.network.faults.delayMs = (from) => (from === a.run ? 9_000 : 0);
    a.send(b, "late");
    net.advance(8_000);
    net.network.faults.delayMs = () => 0;
    net.advance(12_000);
    expect(b.events).toContain("a gone: it was silent for 6 s");
    expect(b.items).toEqual([]);
    expect([a.events.at(-1), b.events.at(-1)]).toEqual(["b up", "a up"]);
  });
});

describe("a peer that takes nothing", () => {
  it("is full when its window is used up, and gone when it has acknowledged nothing for 6 s", () => {
    const [a, b] = two();
    // Its acknowledgements are lost, its hellos are not.
    net.network.faults.copies = (from, _to, message) => (from === b.run && message[0] === 1 ? 0 : 1);
    const chunk = "x".repeat(1024 * 1024);
    for (let at = 0; at < 20; at++) a.send(b, chunk);
    net.settle();
    expect(a.peer(b).isFull).toBe(true);
    net.advance(5_000);
    expect(a.events).toEqual(["b up"]);
    net.advance(2_500);
    expect(a.events).toEqual(["b up", "b gone: it has acknowledged nothing for 6 s"]);
  });

  it("is gone when more than 64 MiB wait for it", () => {
    const [a, b] = two();
    net.network.pause(b.run);
    const chunk = "x".repeat(1024 * 1024);
    for (let at = 0; at < 84; at++) a.send(b, chunk);
    net.advance(1_000);
    expect(a.events).toEqual(["b up", "b gone: it takes less than it is sent"]);
  });
});

describe("a hostile or broken peer", () => {
  const item = (text: string): Uint8Array =>
    encodeNodeFrame({ type: "item", channel: 1, kind: "text" }, Buffer.from(text));
  const raw = (json: string): Uint8Array => encodeNodeFrame(JSON.parse(json) as NodeFrame);

  it.each<[string, string, (stranger: Stranger, a: TestNode) => void]>([
    [
      "sends a malformed frame",
      "call: `timeout_ms`: Too small: expected number to be >=1",
      (stranger, a) =>
        stranger.send(a.run, [raw(`{"type":"call","id":"${randomUUID()}","function_id":"f","timeout_ms":0}`)]),
    ],
    [
      "acknowledges what was not sent",
      "it acknowledges message 99 of 1",
      (stranger, a) => stranger.send(a.run, [], { ack: 99 }),
    ],
    [
      "introduces itself as another run",
      "its hello names another run",
      (stranger, a) =>
        stranger.send(a.run, [encodeNodeFrame({ type: "hello", hello: { ...stranger.hello, run: randomUUID() } })]),
    ],
  ])("that %s is gone, and not talked to for 10 s", (_what, problem, act) => {
    const a = new TestNode("a").start();
    const stranger = newStranger();
    stranger.introduce(a.run);
    expect(a.events).toEqual(["stranger up"]);
    act(stranger, a);
    expect(a.events).toEqual(["stranger up", `stranger gone: ${problem}`]);
    stranger.sayHello();
    net.settle();
    expect(a.table.byRun(stranger.run)).toBeUndefined();
    net.advance(10_000);
    stranger.sayHello();
    net.settle();
    expect(a.table.byRun(stranger.run)).toBeDefined();
  });

  it("that sends a frame without end is gone", () => {
    const a = new TestNode("a").start();
    const stranger = newStranger();
    stranger.introduce(a.run);
    const piece = { isLast: false, bytes: new Uint8Array(500_000) };
    const message = (n: number): Uint8Array =>
      encodeNodeMessage({ from: stranger.run, session: 1, n, ack: 1, granted: 1_000_000 }, [piece]);
    for (let n = 2; n < 60; n++) {
      stranger.link.send(a.run, message(n));
      net.settle();
    }
    expect(a.events).toEqual(["stranger up", `stranger gone: a frame has more than ${MAX_NODE_FRAME_BYTES} bytes`]);
  });

  it("that sends anything before its hello is gone, and a message of an unknown session is ignored", () => {
    const a = new TestNode("a").start();
    const early = newStranger();
    early.send(a.run, [item("x")]);
    expect([a.table.byRun(early.run), a.items]).toEqual([undefined, []]);
    const late = newStranger();
    late.send(a.run, [item("x")], { n: 7 });
    late.send(a.run, [item("x")], { peer_session: 5 });
    expect(a.table.byRun(late.run)).toBeUndefined();
  });

  it("that answers to a session that this side has ended is ignored", () => {
    const a = new TestNode("a").start();
    const stranger = newStranger();
    stranger.introduce(a.run);
    const { session } = a.peer(stranger);
    stranger.send(a.run, [item("stale")], { n: 2, peer_session: session + 1 });
    stranger.send(a.run, [item("current")], { n: 2, peer_session: session });
    expect([a.events, a.items]).toEqual([["stranger up"], ["current"]]);
  });

  it("that sends frames of a newer version is understood without them", () => {
    const a = new TestNode("a").start();
    const stranger = newStranger();
    stranger.introduce(a.run);
    stranger.send(a.run, [raw('{"type":"later"}'), item("kept")]);
    expect([a.events, a.items]).toEqual([["stranger up"], ["kept"]]);
  });

  it("that sends noise is ignored", () => {
    const a = new TestNode("a").start();
    const stranger = newStranger();
    stranger.introduce(a.run);
    for (let at = 0; at < 100; at++) stranger.link.send(a.run, Buffer.from("noise"));
    net.settle();
    expect(a.events).toEqual(["stranger up"]);
    // The log has the first few only.
    expect(a.logs.filter(({ message }) => message === "a message between nodes was ignored")).toHaveLength(10);
  });

  it("cannot fill the table of peers", () => {
    const a = new TestNode("a").start();
    for (let at = 0; at < 40; at++) newStranger().introduce(a.run);
    expect([...a.table.up()]).toHaveLength(32);
  });
});
