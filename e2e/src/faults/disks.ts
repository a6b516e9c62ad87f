// Disks for fault tests, as root. All are below the folder that `npm run faults` names and always cleans up.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** This test's folder below that of the run. */
export function faultsFolder(name: string): string {
  const folder = process.env.SVC_FAULTS_DIR;
  if (folder === undefined)
    throw new Error(
      "these tests mount and break disks: start them by `npm run faults`, as root, which cleans up after them",
    );
  return mkdtempSync(join(folder, `${name}-`));
}

/** An ext4 file system in an image file, mounted through a loop device. */
export class ImageDisk {
  readonly #folder: string;
  #number = 0;
  /** Present mount point. */
  mountPoint = "";

  constructor(folder: string, megabytes: number) {
    this.#folder = folder;
    run("truncate", "-s", `${megabytes}M`, this.#image);
    run("mkfs.ext4", "-q", this.#image);
    this.#mount();
  }

  /**
   * Simulates a power cut now: from now on the disk contains only what was synced, and the file system is as after a
   * crash. Call it while the writer is stopped. `kill` then ends the writer.
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
    // One mount point, so that paths in the engine's config stay valid.
    this.mountPoint = join(this.#folder, "disk");
    mkdirSync(this.mountPoint, { recursive: true });
    run("mount", "-o", "loop", this.#image, this.mountPoint);
  }
}

/** Limits of writes per second, by device, for all processes (control groups, version 1). */
const WRITE_LIMITS = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";

/** An ext4 file system in an image file whose device can be slowed down, by limiting its writes per second. */
export class SlowDisk {
  readonly #mountPoint: string;
  readonly #device: string;

  constructor(options: {
    readonly folder: string;
    readonly name: string;
    readonly megabytes: number;
    readonly mountPoint: string;
  }) {
    const { folder, name, megabytes, mountPoint } = options;
    if (!existsSync(WRITE_LIMITS))
      throw new Error(
        `a slow disk needs ${WRITE_LIMITS}: the kernel's option BLK_DEV_THROTTLING, and control groups of version 1 with blkio (mount -t cgroup -o blkio none /sys/fs/cgroup/blkio)`,
      );
    const image = join(folder, `${name}.img`);
    run("truncate", "-s", `${megabytes}M`, image);
    run("mkfs.ext4", "-q", image);
    this.#device = output("losetup", "--find", "--show", image).trim();
    run("mount", this.#device, mountPoint);
    this.#mountPoint = mountPoint;
  }

  /** `writesPerSecond`: undefined for as many as the disk can. */
  limit(writesPerSecond: number | undefined): void {
    const { rdev } = statSync(this.#device);
    // Major and minor number, as the kernel encodes small ones.
    writeFileSync(WRITE_LIMITS, `${rdev >> 8}:${rdev & 255} ${writesPerSecond ?? 0}`);
  }

  remove(): void {
    this.limit(undefined);
    run("umount", "-l", this.#mountPoint);
    run("losetup", "-d", this.#device);
  }
}

/** Mounts a file system in memory with this size in MB. Returns its mount point. */
export function mountSmallDisk(folder: string, megabytes: number): { readonly mountPoint: string; unmount(): void } {
  const mountPoint = join(folder, "small");
  mkdirSync(mountPoint);
  run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", mountPoint);
  return { mountPoint, unmount: () => run("umount", "-l", mountPoint) };
}

function output(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: "utf8", timeout: 60_000 });
}

export function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 60_000 });
}
