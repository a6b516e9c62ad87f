import type { StreamSocket } from "../../../../testing/stream-socket.ts";
import type { Violations } from "../violations.ts";

interface ItemEvent {
  readonly id: string | null;
  readonly version?: number;
  readonly event: { readonly type: string };
}

/** The events of a stream that one client of an engine got. */
export class ItemEvents {
  readonly node: string;
  readonly #socket: StreamSocket;
  readonly #violations: Violations;
  readonly #versions = new Map<string, number>();

  constructor(node: string, socket: StreamSocket, violations: Violations) {
    this.node = node;
    this.#socket = socket;
    this.#violations = violations;
    socket.say({ type: "hello" });
    socket.say({ type: "join", data: { subscriptionId: "1", streamName: "s", groupId: "g" } });
  }

  /** Checks that the versions of each item rise, and that the last one is the acknowledged one or a later one. */
  finish(acknowledged: ReadonlyMap<string, number>): void {
    let isSynced = false;
    for (const message of this.#socket.take()) {
      const { id, version, event } = message as unknown as ItemEvent;
      if (event?.type === "sync") isSynced = true;
      if (event === undefined || id === null || version === undefined) continue;
      const before = this.#versions.get(id) ?? 0;
      if (version <= before)
        this.#violations.add("order per item", `${this.node} got version ${version} of ${id} after ${before}`);
      this.#versions.set(id, version);
    }
    if (!isSynced) return;
    for (const [id, version] of acknowledged) {
      const last = this.#versions.get(id);
      if (last !== undefined && last < version)
        this.#violations.add(
          "order per item",
          `${this.node} got version ${last} of ${id} as the last one, not ${version}`,
        );
    }
  }
}
