import { expect, it } from "vitest";
import { linkSuite } from "../../kernel/nodes/testing/link-suite.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { MemoryNetwork } from "./memory-link.ts";

linkSuite("a network in memory", async () => {
  const network = new MemoryNetwork(manualClock());
  return [network.connect(), network.connect(), network.connect()];
});

/** Two runs, of which `b` writes down what it receives. */
function pair() {
  const clock = manualClock();
  const steps: (() => void)[] = [];
  const network = new MemoryNetwork(clock, (action) => steps.push(action));
  const received: string[] = [];
  const a = network.connect();
  a.listen("a", () => {});
  network.connect().listen("b", (message) => received.push(Buffer.from(message).toString()));
  const run = (): void => {
    for (const step of steps.splice(0)) step();
  };
  const send = (text: string): void => {
    a.send("b", Buffer.from(text));
    run();
  };
  return { clock, network, received, a, send, run };
}

it("loses and repeats messages on demand", () => {
  const { network, received, send } = pair();
  for (const copies of [0, 1, 2]) {
    network.faults.copies = () => copies;
    send(String(copies));
  }
  expect(received).toEqual(["1", "2", "2"]);
});

it("delays messages and keeps their order", () => {
  const { clock, network, received, send } = pair();
  network.faults.delayMs = () => 50;
  send("slow");
  network.faults.delayMs = () => 0;
  send("behind it");
  expect(received).toEqual([]);
  clock.advance(49);
  expect(received).toEqual([]);
  clock.advance(1);
  expect(received).toEqual(["slow", "behind it"]);
});

it("loses what is sent into a partition, and leaves a probe unanswered", () => {
  const { network, received, a, send, run } = pair();
  const answers: boolean[] = [];
  network.partition(() => true);
  send("lost");
  a.probe("b", (isThere) => answers.push(isThere));
  run();
  network.heal();
  send("kept");
  expect([received, answers]).toEqual([["kept"], []]);
});

it("gives a paused run what arrived meanwhile when it is resumed", () => {
  const { network, received, send } = pair();
  network.pause("b");
  send("1");
  send("2");
  expect(received).toEqual([]);
  network.resume("b");
  expect(received).toEqual(["1", "2"]);
});

it("a killed run neither sends nor receives", () => {
  const { network, received, a, send, run } = pair();
  network.kill("a");
  send("from the dead");
  network.kill("b");
  a.probe("b", () => received.push("answered"));
  run();
  expect(received).toEqual([]);
});
