import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type InMemoryEngine, inMemoryEngine, type StreamSocket } from "../testing/index.ts";
import { type MemoryStreams, memoryStreams } from "./testing/memory-streams.ts";

type Item = readonly [id: string, value: number];

/** The state that a client derives for one group by the rules of the extended protocol. Values are `[id, counter]`. */
class Follower {
  readonly items = new Map<string, number>();
  since: { readonly epoch: string; readonly seq: number } | undefined;
  #epoch = "";
  #announced = false;
  #expected: number | undefined;

  read(message: Record<string, unknown>): void {
    const data = message.data as Record<string, unknown> | undefined;
    if (message.type === "welcome") this.#epoch = String(data?.epoch);
    if (message.type === "joined") this.#expected = Number(data?.seq);
    if (message.type === "joined" && data?.resumed === false) this.#announced = true;
    if (message.type === "gap") this.#announced = true;
    if (message.type === "stream") this.#stream(Number(message.seq), message.event as { type: string; data: unknown });
  }

  #stream(seq: number, event: { type: string; data: unknown }): void {
    this.since = { epoch: this.#epoch, seq };
    if (event.type === "sync") {
      expect(this.#announced, "a sync comes after a join or a gap notice").toBe(true);
      this.#announced = false;
      this.items.clear();
      for (const [id, value] of event.data as Item[]) this.items.set(id, value);
    } else {
      expect(seq, "events follow one another without a gap").toBe((this.#expected ?? 0) + 1);
      this.#expected = seq;
      if (event.type === "event") return;
      const [id, value] = event.data as Item;
      if (event.type === "delete") this.items.delete(id);
      else {
        expect(value, "an item never goes back").toBeGreaterThan(this.items.get(id) ?? 0);
        this.items.set(id, value);
      }
    }
    this.#expected = seq;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * A group in a store that processes writes and reads in order when the test says so, and one client that connects and
 * disconnects.
 */
class Scene {
  readonly follower = new Follower();
  readonly values = new Map<string, number>();
  readonly #versions = new Map<string, number>();
  readonly #asked: (() => void)[] = [];
  readonly #streams: MemoryStreams;
  readonly #padding: string;
  readonly #open: () => StreamSocket;
  #counter = 0;
  #socket: StreamSocket | undefined;

  constructor(engine: InMemoryEngine, padding: number) {
    this.#open = () => engine.openSocket("/");
    this.#padding = padding > 0 ? `,"${"x".repeat(padding)}"` : "";
    this.#streams = memoryStreams(engine.kernel.streams, {
      snapshot: () =>
        new Promise((resolve) => {
          this.#asked.push(() => {
            const items = [...this.values].map(([id, value]) => this.#json(id, value));
            // Like a store: it has no version of deleted items.
            const versions = new Map([...this.#versions].filter(([id]) => this.values.has(id)));
            resolve({ json: `[${items.join(",")}]`, versionOf: (id) => versions.get(id) });
          });
        }),
    });
  }

  write(id: string, times = 1): void {
    for (let time = 0; time < times; time++) {
      this.#asked.push(() => {
        const type = this.values.has(id) ? "update" : "create";
        this.values.set(id, ++this.#counter);
        this.#publish(id, type, this.#counter);
      });
    }
  }

  remove(id: string): void {
    this.#asked.push(() => {
      const value = this.values.get(id);
      if (value === undefined) return;
      this.values.delete(id);
      this.#publish(id, "delete", value);
    });
  }

  /** Publishes an event that is not stored, at once. */
  send(): void {
    this.#streams.publish({
      stream: "todos",
      group: "g",
      id: null,
      type: "event",
      json: '{"type":"cheer","data":null}',
      version: undefined,
    });
  }

  /** The store processes this many of the earliest operations, and returns their results in one turn. */
  answer(count: number): void {
    for (const work of this.#asked.splice(0, count)) work();
  }

  connect(): void {
    if (this.#socket !== undefined && this.#socket.ended === undefined) return;
    this.#socket = this.#open();
    this.#socket.say({ type: "hello", data: { version: 1 } });
    this.#socket.say({
      type: "join",
      data: { subscriptionId: "s", streamName: "todos", groupId: "g", since: this.follower.since },
    });
  }

  drop(): void {
    this.#socket?.close();
  }

  stall(): void {
    this.#socket?.stall();
  }

  unstall(): void {
    this.#socket?.unstall();
  }

  read(): void {
    for (const message of this.#socket?.take() ?? []) this.follower.read(message);
  }

  /** Returns when everything has arrived. */
  async settle(): Promise<void> {
    this.connect();
    this.unstall();
    for (let rest = 0; rest < 8; rest++) {
      await turn();
      this.answer(this.#asked.length);
    }
    await turn();
  }

  #publish(id: string, type: "create" | "update" | "delete", value: number): void {
    const version = (this.#versions.get(id) ?? 0) + 1;
    this.#versions.set(id, version);
    this.#streams.publish({ stream: "todos", group: "g", id, type, json: this.#json(id, value), version });
  }

  #json(id: string, value: number): string {
    return `["${id}",${value}${this.#padding}]`;
  }
}

type Step = (scene: Scene) => void | Promise<void>;
const named = (name: string, run: Step): Step => Object.assign(run, { [fc.toStringMethod]: () => name });
const id = fc.constantFrom("a", "b", "c");
const fixed = (steps: Readonly<Record<string, Step>>): fc.Arbitrary<Step> =>
  fc.constantFrom(...Object.entries(steps).map(([name, run]) => named(name, run)));

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(id, fc.integer({ min: 1, max: 20 }))
      .map(([of, times]) => named(`write ${of} ${times}`, (scene) => scene.write(of, times))),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 30, max: 2_200 })
      .map((times) => named(`write a ${times}`, (scene) => scene.write("a", times))),
  },
  { weight: 2, arbitrary: id.map((of) => named(`remove ${of}`, (scene) => scene.remove(of))) },
  { weight: 1, arbitrary: fixed({ send: (scene) => scene.send() }) },
  { weight: 4, arbitrary: fixed({ turn, microtask: () => Promise.resolve() }) },
  {
    weight: 6,
    arbitrary: fc
      .oneof(fc.integer({ min: 1, max: 40 }), fc.constant(3_000))
      .map((count) => named(`answer ${count}`, (scene) => scene.answer(count))),
  },
  { weight: 3, arbitrary: fixed({ drop: (scene) => scene.drop(), connect: (scene) => scene.connect() }) },
  { weight: 2, arbitrary: fixed({ stall: (scene) => scene.stall(), unstall: (scene) => scene.unstall() }) },
);

describe("a client of the extended protocol", () => {
  it("sees no hole and goes back in no item, whatever writes, reads, stalls and disconnections meet (R-2) (R-3) (R-4) (gap 41)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 4_000), async (steps, padding) => {
        const scene = new Scene(await inMemoryEngine(), padding);
        for (const run of steps) {
          await run(scene);
          scene.read();
        }
        await scene.settle();
        scene.write("a");
        scene.answer(1);
        scene.read();
        expect(Object.fromEntries(scene.follower.items)).toEqual(Object.fromEntries(scene.values));
      }),
      { numRuns: 100 },
    );
  });
});
