import type { Clock } from "../../../kernel/clock.ts";
import type { ComponentHealth } from "../../../kernel/health-contract.ts";
import type { DiskLook, LookAtDisk } from "./disk-look.ts";

const LITTLE_BYTES = 100 * 1024 * 1024;
const LITTLE_SHARE = 0.01;
/** A disk that says nothing for so long is as bad as none, in milliseconds. */
const DEADLINE_MS = 10_000;

/** The disk of the data folder, by the last look at it. */
export class DiskHealth {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #lookAtDisk: LookAtDisk;
  #health: ComponentHealth | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: { readonly folder: string; readonly clock: Clock; readonly lookAtDisk: LookAtDisk }) {
    this.#folder = parts.folder;
    this.#clock = parts.clock;
    this.#lookAtDisk = parts.lookAtDisk;
  }

  /** Undefined until it was looked at once. */
  health(): ComponentHealth | undefined {
    return this.#health;
  }

  /** Resolves when it was looked at, or after 10 s. A look that hangs is not begun a second time. */
  look(): Promise<void> {
    this.#looking ??= this.#look();
    const { promise, cancel } = this.#deadline();
    return Promise.race([this.#looking, promise]).finally(cancel);
  }

  async #look(): Promise<void> {
    try {
      this.#health = healthOf(this.#folder, await this.#lookAtDisk(this.#folder));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#health = { status: "unhealthy", details: `the data folder ${this.#folder} cannot be looked at: ${reason}` };
    } finally {
      this.#looking = undefined;
    }
  }

  #deadline(): { readonly promise: Promise<void>; cancel(): void } {
    let cancel = (): void => {};
    const promise = new Promise<void>((resolve) => {
      cancel = this.#clock.after(DEADLINE_MS, () => {
        this.#health = {
          status: "unhealthy",
          details: `the disk of ${this.#folder} does not answer within ${DEADLINE_MS / 1_000} s: see whether it is a network drive that is gone`,
        };
        resolve();
      });
    });
    return { promise, cancel };
  }
}

function healthOf(folder: string, { freeBytes, totalBytes, writeProblem }: DiskLook): ComponentHealth {
  const free = `${megabytes(freeBytes)} of ${megabytes(totalBytes)} free`;
  if (writeProblem !== undefined) {
    return {
      status: "unhealthy",
      details: `nothing can be written into ${folder} (${writeProblem}; ${free}): make room on its disk, or let this user write there`,
    };
  }
  if (freeBytes < LITTLE_BYTES || (totalBytes > 0 && freeBytes < totalBytes * LITTLE_SHARE)) {
    return { status: "degraded", details: `little room on the disk of ${folder} (${free}): remove what is not needed, or move engine.data_dir` };
  }
  return { status: "healthy", details: free };
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024)} MB`;
}
