import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { type LogConnection, type LogFaults, MemoryLog } from "../../../cluster/testing/memory-log.ts";
import type { LedgerProcedures } from "../../testing/ledger-procedures.ts";
import { openReplicatedStore, type ReplicatedStoreOptions } from "../open-replicated-store.ts";
import type { ReplicatedStore } from "../replicated-store.ts";
import { tableHash } from "./table-hash.ts";

export const ledger = new URL("../../testing/ledger-procedures.js", import.meta.url);

export interface TestNode {
  readonly store: ReplicatedStore<LedgerProcedures>;
  readonly connection: LogConnection;
}

export interface NodeOptions extends Partial<Omit<ReplicatedStoreOptions, "log">> {
  readonly faults?: LogFaults;
}

/** Stores of the ledger on one log in memory. Use one per test file; each test gets a new log. */
export class TestCluster {
  log = new MemoryLog();
  #folder: string | undefined;
  #files = 0;
  #nodes: TestNode[] = [];

  constructor() {
    afterEach(async () => {
      for (const { store, connection } of this.#nodes) {
        connection.setUp(true);
        await store.abort();
      }
      this.#nodes = [];
      this.log = new MemoryLog();
      if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
      this.#folder = undefined;
    });
  }

  async open(node: string, { faults, ...options }: NodeOptions = {}): Promise<TestNode> {
    const connection = this.log.connect(faults);
    const store = await openReplicatedStore<LedgerProcedures>({
      ...{ log: connection, node, file: undefined, procedures: ledger },
      ...options,
    });
    const opened = { store, connection };
    this.#nodes.push(opened);
    return opened;
  }

  newFile(): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "svc-cluster-"));
    this.#files += 1;
    return join(this.#folder, `${this.#files}.db`);
  }

  /** Waits until all nodes are at the same position, and returns the different hashes of all their tables: one. */
  async hashes(...nodes: readonly TestNode[]): Promise<readonly string[]> {
    let files: readonly string[] = [];
    const positions = async (): Promise<ReadonlySet<number>> => {
      // Copies are made last: each copy of a file starts a process.
      const applied = new Set(nodes.map(({ store }) => store.position()));
      if (applied.size > 1) return applied;
      files = nodes.map(() => this.newFile());
      const copies = nodes.map(({ store }, index) => store.snapshot(files[index] ?? ""));
      return new Set((await Promise.all(copies)).map(({ position }) => position));
    };
    await expect.poll(positions).toHaveProperty("size", 1);
    return [...new Set(files.map(tableHash))];
  }
}
