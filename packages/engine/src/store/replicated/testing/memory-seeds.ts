import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import {
  type CopyOptions,
  type KeptSnapshot,
  type NewSnapshot,
  refuseOlder,
  type SeedClaim,
  type Seeds,
} from "../seeds.ts";

/** Snapshots in memory. */
export class MemorySeeds implements Seeds {
  #kept: { readonly snapshot: KeptSnapshot; readonly content: Uint8Array }[] = [];
  /** Id of a snapshot that cannot be read. */
  damaged: string | undefined;
  /** Called before a snapshot is stored. It may throw. */
  beforePut = (): void => {};
  /** Called before a snapshot is copied. */
  beforeCopy = async (_signal: AbortSignal | undefined): Promise<void> => {};
  /** Number of times that the claim of another run was respected. */
  refusals = 0;
  #claim: { readonly run: string } | undefined;

  async list(identity: string): Promise<readonly KeptSnapshot[]> {
    return this.#kept.map(({ snapshot }) => snapshot).filter((snapshot) => snapshot.identity === identity);
  }

  async copy({ id, position }: KeptSnapshot, file: string, { signal }: CopyOptions = {}): Promise<void> {
    await this.beforeCopy(signal);
    signal?.throwIfAborted();
    const found = this.#kept.find(({ snapshot }) => snapshot.id === id);
    if (found === undefined) throw new Error(`the snapshot of entry ${position} is not kept any more`);
    if (id === this.damaged) throw new Error(`the snapshot of entry ${position} is damaged`);
    await writeFile(file, found.content, { flag: "wx" });
  }

  async cutProblem(identity: string): Promise<string | undefined> {
    const isDamaged = (await this.list(identity)).some(({ id }) => id === this.damaged);
    return isDamaged ? "a snapshot is damaged" : undefined;
  }

  async claim(run: string, isAlive: (run: string) => boolean): Promise<SeedClaim | undefined> {
    const former = this.#claim;
    if (former !== undefined && former.run !== run && isAlive(former.run)) {
      this.refusals += 1;
      return undefined;
    }
    const claim = { run };
    this.#claim = claim;
    return {
      put: async (snapshot, file, signal) => {
        const content = await readFile(file);
        this.beforePut();
        if (this.#claim !== claim) throw new Error("another engine makes a snapshot: this one was considered dead");
        signal?.throwIfAborted();
        refuseOlder(snapshot, await this.list(snapshot.identity));
        this.#claim = undefined;
        this.#add(snapshot, content);
      },
      release: async () => {
        if (this.#claim === claim) this.#claim = undefined;
      },
    };
  }

  #add(added: NewSnapshot, content: Uint8Array): void {
    const snapshot = { ...added, id: randomUUID(), bytes: content.length };
    const others = this.#kept.filter((one) => one.snapshot.identity === snapshot.identity);
    this.#kept = [{ snapshot, content }, ...others].slice(0, 2);
  }
}
