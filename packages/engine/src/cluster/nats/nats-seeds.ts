import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  type StreamInfo,
} from "@nats-io/jetstream";
import { RequestError, TimeoutError } from "@nats-io/transport-node";
import { z } from "zod";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { LogUnavailable } from "../../store/log.ts";
import {
  type CopyOptions,
  type KeptSnapshot,
  type NewSnapshot,
  refuseOlder,
  type SeedClaim,
  type Seeds,
} from "../../store/replicated/seeds.ts";
import { isUnheard, permissionProblem } from "./connect.ts";
import { ensureStream, type StreamParts } from "./ensure-stream.ts";
import { codeOf, codes, isWrongSequence, unavailable } from "./jetstream-errors.ts";
import { logStreamName, seedStreamName } from "./stream-names.ts";

/** Size of a part, in bytes. It is limited because a server returns it as base64, and a message has at most 1 MB. */
const PART_BYTES = 512 * 1024;
/**
 * Maximum number of parts in flight. They use the same connection as the messages between engines, which must not be
 * delayed.
 */
const MAX_IN_FLIGHT = 2;
/** Timeout of one request to the servers, in milliseconds. */
const REQUEST_MS = 3_000;
/** How long a failing request is tried again, in milliseconds. The servers may have to elect a leader meanwhile. */
const STALL_MS = 20_000;
const RETRY_MS = 250;
/** Number of snapshots that are kept of a log. */
const KEPT = 2;

const snapshotSchema = z.object({
  id: z.string(),
  identity: z.string(),
  position: z.number(),
  logBytes: z.number(),
  node: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  source: z.string().optional(),
});
const indexSchema = z.object({
  /** The run that makes a snapshot at present, and the id of that snapshot; null if no run does. */
  claim: z.object({ run: z.string(), id: z.string() }).nullable(),
  /** The newest snapshot is the first. */
  kept: z.array(snapshotSchema),
});
type Index = z.output<typeof indexSchema>;
type Stored = z.output<typeof snapshotSchema>;

const EMPTY: Index = { claim: null, kept: [] };

/**
 * Snapshots in a stream of JetStream. Each part of a snapshot is a message with its own subject. The message `index`
 * lists the complete snapshots, and the run that makes a new one. A run can replace the index only if it knows the
 * present one. So a run that lost its claim cannot complete its snapshot. Parts that the index does not know are
 * removed.
 */
export class NatsSeeds implements Seeds {
  readonly #parts: StreamParts;
  readonly #clock: Clock;
  readonly #publisher: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #stream: string;
  readonly #subject: string;

  private constructor(parts: StreamParts, manager: JetStreamManager) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    this.#publisher = jetstream(parts.client.nats, { timeout: REQUEST_MS });
    this.#manager = manager;
    this.#stream = seedStreamName(parts.cluster, parts.store);
    this.#subject = `svc.${parts.cluster}.snapshots.${parts.store}`;
  }

  /** Does not create the stream. The first claim creates it. */
  static async open(parts: StreamParts): Promise<NatsSeeds> {
    return new NatsSeeds(parts, await jetstreamManager(parts.client.nats, { timeout: REQUEST_MS, checkAPI: false }));
  }

  async list(identity: string): Promise<readonly KeptSnapshot[]> {
    const { index } = await this.#again(() => this.#read());
    return index.kept.filter((snapshot) => snapshot.identity === identity);
  }

  async claim(run: string, isAlive: (run: string) => boolean): Promise<SeedClaim | undefined> {
    await this.#ensureStream();
    const id = randomUUID();
    // List the parts before the claim: snapshots that are incomplete after it can never be completed.
    const { parts } = await this.#stored();
    const found = new Set(parts.map((part) => part.split(".")[0] ?? ""));
    const claimed = await this.#change((index) => {
      const isTaken = index.claim !== null && index.claim.run !== run && isAlive(index.claim.run);
      return isTaken ? undefined : { ...index, claim: { run, id } };
    });
    if (claimed === undefined) return undefined;
    // Remove the parts of snapshots whose processes died. If this fails, the next claim removes the parts.
    const strays = [...found].filter((one) => !claimed.kept.some((each) => each.id === one));
    for (const stray of strays) await this.#remove(stray).catch(() => undefined);
    return {
      put: (snapshot, file, signal) => this.#put(id, snapshot, { file, signal }),
      release: async () => {
        const index = await this.#change((one) => (one.claim?.id === id ? { ...one, claim: null } : one));
        if (!index?.kept.some((one) => one.id === id)) await this.#remove(id);
      },
    };
  }

  async cutProblem(identity: string): Promise<string | undefined> {
    const kept = await this.list(identity);
    const { parts, copies } = await this.#stored();
    const { cluster, store } = this.#parts;
    const { config } = await this.#again(() => this.#manager.streams.info(logStreamName(cluster, store)));
    if (copies < config.num_replicas)
      return `${copies} NATS servers keep the snapshots, and ${config.num_replicas} the log`;
    const lacking = kept.find(
      ({ id, bytes }) => parts.filter((one) => one.startsWith(`${id}.`)).length < Math.ceil(bytes / PART_BYTES),
    );
    return lacking === undefined ? undefined : `parts of the snapshot of entry ${lacking.position} are missing`;
  }

  async copy(snapshot: KeptSnapshot, file: string, options: CopyOptions = {}): Promise<void> {
    const { index } = await this.#again(() => this.#read());
    const stored = index.kept.find(({ id }) => id === snapshot.id);
    if (stored === undefined) throw new Error(`the snapshot of entry ${snapshot.position} is not kept any more`);
    try {
      await this.#copyTo(stored, file, options);
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  async #put(
    id: string,
    snapshot: NewSnapshot,
    { file, signal }: { readonly file: string; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const stored = { ...snapshot, id, ...(await this.#send(id, file, signal)) };
    let dropped: readonly Stored[] = [];
    await this.#change((index) => {
      if (index.kept.some((one) => one.id === id)) return index;
      if (index.claim?.id !== id) throw new Error("another engine makes a snapshot: this one was considered dead");
      // The store may have ended during the upload, e.g. because its replica differs from the replicas of the majority.
      signal?.throwIfAborted();
      const same = index.kept.filter(({ identity }) => identity === snapshot.identity);
      refuseOlder(stored, same);
      const kept = [stored, ...same].slice(0, KEPT);
      dropped = index.kept.filter((one) => !kept.includes(one));
      return { claim: null, kept };
    });
    for (const one of dropped) await this.#remove(one.id);
  }

  async #send(
    id: string,
    file: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly bytes: number; readonly sha256: string }> {
    const hash = createHash("sha256");
    const handle = await open(file, "r");
    try {
      const { size: bytes } = await handle.stat();
      const count = Math.ceil(bytes / PART_BYTES);
      for (let at = 0; at < count; at += MAX_IN_FLIGHT) {
        signal?.throwIfAborted();
        const data = await partsOf(handle, at, Math.min(MAX_IN_FLIGHT, count - at));
        for (const part of data) hash.update(part);
        await Promise.all(
          data.map((part, index) => this.#again(() => this.#publish(`${id}.${at + index}`, part), signal)),
        );
      }
      return { bytes, sha256: hash.digest("hex") };
    } finally {
      await handle.close();
    }
  }

  async #copyTo(
    { id, bytes, sha256, position }: Stored,
    file: string,
    { onCopied, signal }: CopyOptions,
  ): Promise<void> {
    const hash = createHash("sha256");
    let copied = 0;
    const handle = await open(file, "wx", 0o600);
    try {
      const count = Math.ceil(bytes / PART_BYTES);
      for (let at = 0; at < count; at += MAX_IN_FLIGHT) {
        signal?.throwIfAborted();
        const indexes = Array.from({ length: Math.min(MAX_IN_FLIGHT, count - at) }, (_, index) => at + index);
        const parts = await Promise.all(
          indexes.map((index) => this.#again(() => this.#readPart(`${id}.${index}`), signal)),
        );
        for (const part of parts) {
          hash.update(part);
          await handle.writeFile(part);
          copied += part.length;
          onCopied?.(copied);
        }
      }
      if (hash.digest("hex") !== sha256) throw new Error(`the snapshot of entry ${position} is damaged`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  async #publish(name: string, part: Uint8Array): Promise<void> {
    this.#checkUp();
    const expect = { streamName: this.#stream };
    await this.#publisher.publish(`${this.#subject}.parts.${name}`, part, { timeout: REQUEST_MS, expect });
  }

  async #readPart(name: string): Promise<Uint8Array> {
    const subject = `${this.#subject}.parts.${name}`;
    const found = await this.#manager.streams.getMessage(this.#stream, { last_by_subj: subject });
    if (found === null) throw new Error(`the part ${name} of a snapshot is missing`);
    return found.data;
  }

  /** Resolves with the index and its sequence number in the stream. If there is no index, the number is 0. */
  async #read(): Promise<{ readonly index: Index; readonly at: number }> {
    try {
      const found = await this.#manager.streams.getMessage(this.#stream, { last_by_subj: `${this.#subject}.index` });
      if (found !== null) return { index: indexSchema.parse(found.json()), at: found.seq };
    } catch (error) {
      const code = codeOf(error);
      if (code !== codes.noMessage && code !== codes.streamNotFound) throw error;
    }
    return { index: EMPTY, at: 0 };
  }

  /**
   * Replaces the index with the one that `change` returns, and resolves with it. Changes nothing if `change` returns
   * the present index or undefined, and resolves with that. `change` is called again after a failure, because the index
   * may have been replaced by another engine, or by the failed attempt itself.
   */
  #change(change: (index: Index) => Index | undefined): Promise<Index | undefined> {
    return this.#again(async () => {
      const { index, at } = await this.#read();
      const next = change(index);
      if (next === undefined || next === index) return next;
      this.#checkUp();
      const expect = { streamName: this.#stream, lastSubjectSequence: at };
      await this.#publisher.publish(`${this.#subject}.index`, JSON.stringify(next), { timeout: REQUEST_MS, expect });
      return next;
    });
  }

  /** Repeats an attempt that failed because of the servers, for up to `STALL_MS` and until the signal aborts. */
  async #again<Result>(attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const endsAt = this.#clock.monotonic() + STALL_MS;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const problem = permissionProblem(error, this.#parts.cluster);
        if (problem !== undefined) throw problem;
        if (!mayPass(error) || signal?.aborted === true) throw error;
        if (this.#clock.monotonic() >= endsAt) throw unavailable(error);
        await new Promise<void>((resolve) => this.#clock.after(RETRY_MS, resolve));
      }
    }
  }

  /** Throws without a server, because the client would keep a published message in memory without a limit. */
  #checkUp(): void {
    if (!this.#parts.client.isUp()) throw new LogUnavailable("there is no connection to a NATS server");
  }

  /**
   * Resolves with the names of the stored parts (`<id of the snapshot>.<number>`) and the number of servers that keep
   * them.
   */
  async #stored(): Promise<{ readonly parts: readonly string[]; readonly copies: number }> {
    const prefix = `${this.#subject}.parts.`;
    const options = { subjects_filter: `${prefix}>` };
    const { state, config } = await this.#again(() => this.#manager.streams.info(this.#stream, options));
    const parts = Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
    return { parts, copies: config.num_replicas };
  }

  async #remove(id: string): Promise<void> {
    const filter = `${this.#subject}.parts.${id}.*`;
    await this.#again(() => this.#manager.streams.purge(this.#stream, { filter }));
  }

  #ensureStream(): Promise<StreamInfo> {
    return ensureStream(this.#stream, this.#parts, () => ({
      subjects: [`${this.#subject}.>`],
      // A part that is sent again replaces the earlier message.
      max_msgs_per_subject: 1,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
    }));
  }
}

async function partsOf(handle: FileHandle, from: number, count: number): Promise<readonly Uint8Array[]> {
  const data = Buffer.alloc(count * PART_BYTES);
  let length = 0;
  while (length < data.length) {
    const { bytesRead } = await handle.read(data, length, data.length - length, from * PART_BYTES + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return Array.from({ length: Math.ceil(length / PART_BYTES) }, (_, index) =>
    data.subarray(index * PART_BYTES, Math.min(length, (index + 1) * PART_BYTES)),
  );
}

/** True if the next attempt may succeed: there is no leader yet, or another engine replaced the index meanwhile. */
function mayPass(error: unknown): boolean {
  if (error instanceof LogUnavailable || isUnheard(error)) return true;
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof TimeoutError || each instanceof RequestError) return true;
  return isWrongSequence(error) || (error instanceof JetStreamApiError && error.status === 503);
}
