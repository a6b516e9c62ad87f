import { readdir, readFile, readlink } from "node:fs/promises";

export interface PortHolder {
  readonly pid: number;
  /** The command line, truncated. */
  readonly command: string;
}

const LISTENING = "0A";
const MAX_COMMAND_LENGTH = 120;

/**
 * Returns the process that listens on a TCP port. Works only on Linux, and only for processes that this user may
 * inspect. Returns undefined otherwise.
 */
export async function findPortHolder(port: number): Promise<PortHolder | undefined> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return undefined;
  const names = await readdir("/proc").catch(() => []);
  for (const name of names) {
    if (/^\d+$/.test(name) && (await holdsAny(name, inodes)))
      return { pid: Number(name), command: await commandOf(name) };
  }
  return undefined;
}

/**
 * Returns true if no process listens on the port, but an outgoing or recently closed connection uses it. Works only on
 * Linux. Returns false otherwise.
 */
export async function isUsedByConnection(port: number): Promise<boolean> {
  const sockets = await socketsOn(port);
  return sockets.length > 0 && sockets.every(({ state }) => state !== LISTENING);
}

async function listeningInodes(port: number): Promise<ReadonlySet<string>> {
  return new Set(
    (await socketsOn(port)).filter(({ state }) => state === LISTENING).map(({ inode }) => `socket:[${inode}]`),
  );
}

interface SocketRow {
  readonly state: string;
  readonly inode: string;
}

async function socketsOn(port: number): Promise<readonly SocketRow[]> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((table) => readFile(table, "utf8").catch(() => "")),
  );
  const rows: SocketRow[] = [];
  for (const line of tables.join("\n").split("\n")) {
    const columns = line.trim().split(/\s+/);
    const [, local, , state, , , , , , inode] = columns;
    if (local?.endsWith(suffix) && state !== undefined && inode !== undefined) rows.push({ state, inode });
  }
  return rows;
}

async function holdsAny(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "")),
  );
  return targets.some((target) => inodes.has(target));
}

async function commandOf(pid: string): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const shown = line.replaceAll("\0", " ").trim();
  return shown.length > MAX_COMMAND_LENGTH ? `${shown.slice(0, MAX_COMMAND_LENGTH)}…` : shown;
}
