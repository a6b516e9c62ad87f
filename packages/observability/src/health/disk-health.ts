import type { Clock, ComponentHealth } from "@svc-runtime/engine/module";
import type { DiskProbe, ProbeDisk } from "./disk-probe.ts";

const LITTLE_BYTES = 100 * 1024 * 1024;
const LITTLE_SHARE = 0.01;
/** A disk that does not respond within this time is unhealthy; milliseconds. */
const DEADLINE_MS = 10_000;

/** Health of the disk that contains the data folder, based on the last probe. */
export class DiskHealth {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #probeDisk: ProbeDisk;
  #health: ComponentHealth | undefined;
  #probing: Promise<void> | undefined;

  constructor(parts: { readonly folder: string; readonly clock: Clock; readonly probeDisk: ProbeDisk }) {
    this.#folder = parts.folder;
    this.#clock = parts.clock;
    this.#probeDisk = parts.probeDisk;
  }

  /** Undefined before the first probe. */
  health(): ComponentHealth | undefined {
    return this.#health;
  }

  /** Resolves after a probe, or after 10 s. A probe that hangs is not started a second time. */
  probe(): Promise<void> {
    this.#probing ??= this.#probe();
    const { promise, cancel } = this.#deadline();
    return Promise.race([this.#probing, promise]).finally(cancel);
  }

  async #probe(): Promise<void> {
    try {
      this.#health = healthOf(this.#folder, await this.#probeDisk(this.#folder));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#health = { status: "unhealthy", details: `the data folder ${this.#folder} cannot be read: ${reason}` };
    } finally {
      this.#probing = undefined;
    }
  }

  #deadline(): { readonly promise: Promise<void>; cancel(): void } {
    let cancel = (): void => {};
    const promise = new Promise<void>((resolve) => {
      cancel = this.#clock.after(DEADLINE_MS, () => {
        this.#health = {
          status: "unhealthy",
          details: `the disk of ${this.#folder} did not respond within ${DEADLINE_MS / 1_000} s: check if it is a disconnected network drive`,
        };
        resolve();
      });
    });
    return { promise, cancel };
  }
}

function healthOf(folder: string, { freeBytes, totalBytes, writeProblem }: DiskProbe): ComponentHealth {
  const free = `${megabytes(freeBytes)} of ${megabytes(totalBytes)} free`;
  if (writeProblem !== undefined) {
    return {
      status: "unhealthy",
      details: `cannot write to ${folder} (${writeProblem}; ${free}): free disk space, or give this user write permission`,
    };
  }
  if (freeBytes < LITTLE_BYTES || (totalBytes > 0 && freeBytes < totalBytes * LITTLE_SHARE)) {
    return {
      status: "degraded",
      details: `the disk of ${folder} is almost full (${free}): free disk space, or change engine.data_dir`,
    };
  }
  return { status: "healthy", details: free };
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024)} MB`;
}
