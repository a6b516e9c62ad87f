// Disks to break, as root. All lie below the folder that `npm run faults` names and cleans up, whatever becomes of the tests.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

/** A folder of this test's own below that of the run. */
export function faultsFolder(name: string): string {
  const folder = process.env.SVC_FAULTS_DIR;
  if (folder === undefined) throw new Error("these tests mount and break disks: start them by `npm run faults`, as root, which cleans up after them");
  return mkdtempSync(join(folder, `${name}-`));
}

/** An ext4 file system in an image file, mounted through a loop device. */
export class ImageDisk {
  readonly #folder: string;
  #number = 0;
  /** Where it is mounted at present. */
  mountPoint = "";

  constructor(folder: string, megabytes: number) {
    this.#folder = folder;
    run("truncate", "-s", `${megabytes}M`, this.#image);
    run("mkfs.ext4", "-q", this.#image);
    this.#mount();
  }

  /**
   * The power goes, at this moment: from now on the disk holds what it held when the power went, which is what was synced, and the file system finds
   * itself as after a crash. Call while whoever writes is stopped; `kill` then ends it.
   */
  async cut(kill: () => Promise<void>): Promise<void> {
    const before = this.#image;
    const mountedAt = this.mountPoint;
    this.#number += 1;
    run("cp", "--sparse=always", before, this.#image);
    await kill();
    run("umount", mountedAt);
    rmSync(before);
    this.#mount();
  }

  unmount(): void {
    run("umount", "-l", this.mountPoint);
  }

  get #image(): string {
    return join(this.#folder, `disk-${this.#number}.img`);
  }

  #mount(): void {
    // One place, so that paths in the engine's config hold.
    this.mountPoint = join(this.#folder, "disk");
    mkdirSync(this.mountPoint, { recursive: true });
    run("mount", "-o", "loop", this.#image, this.mountPoint);
  }
}

/** A file system in memory of so many megabytes; answers where it is mounted. */
export function mountSmallDisk(folder: string, megabytes: number): { readonly mountPoint: string; unmount(): void } {
  const mountPoint = join(folder, "small");
  mkdirSync(mountPoint);
  run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", mountPoint);
  return { mountPoint, unmount: () => run("umount", "-l", mountPoint) };
}

export function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 60_000 });
}
