import { closeSync, openSync, readSync } from "node:fs";

// Format of a write-ahead log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Assumed page size of a log whose header is invalid. */
const DEFAULT_PAGE_BYTES = 4096;
/** The first 4 bytes of a log, without the last bit. That bit is set if the checksums use big-endian words. */
const MAGIC = 0x377f0682;
/** Number of frames per read. */
const FRAMES_PER_READ = 64;

/** Content of a write-ahead log. All numbers count frames; a frame is one page of the database. */
export interface WalContent {
  /** Frames up to the last readable commit. These are the frames that SQLite uses. */
  readonly readable: number;
  /** Number of readable frames before the last readable transaction. */
  readonly readableBeforeLast: number;
  /**
   * Frames of later transactions after the first bad frame. SQLite ignores them without an error. A transaction starts
   * only after the previous one is synced, so a power cut cannot cause this. Such frames show that the file is damaged.
   */
  readonly unreadable: number;
}

/**
 * Reads a log. Returns undefined if there is no log. SQLite ignores the whole log if its header is invalid. Throws
 * system errors.
 */
export function readWal(file: string): WalContent | undefined {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return contentOf(handle);
  } finally {
    closeSync(handle);
  }
}

function contentOf(handle: number): WalContent | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readSync(handle, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return undefined;
  const magic = header.readUInt32BE(0);
  const checksum = new Checksum((magic & 1) === 1);
  checksum.add(header, 0, 24);
  const isHeaderValid = (magic & ~1) >>> 0 === MAGIC && checksum.equals(header, 24);
  const pageBytes = isHeaderValid ? header.readUInt32BE(8) : DEFAULT_PAGE_BYTES;
  // The salts of an invalid header are read from the first frame, because each frame repeats them.
  if (!isHeaderValid) readSync(handle, header, 16, 8, HEADER_BYTES + 8);

  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const buffer = Buffer.alloc(frameBytes * FRAMES_PER_READ);
  const chain = new FrameChain(header.subarray(16, 24), checksum, isHeaderValid);
  for (let position = HEADER_BYTES; ; position += buffer.length) {
    const frames = Math.floor(readSync(handle, buffer, 0, buffer.length, position) / frameBytes);
    for (let at = 0; at < frames; at++) chain.add(buffer.subarray(at * frameBytes, (at + 1) * frameBytes));
    if (frames < FRAMES_PER_READ) return chain;
  }
}

/** Reads a log frame by frame. */
class FrameChain implements WalContent {
  readable = 0;
  readableBeforeLast = 0;
  unreadable = 0;
  readonly #salts: Buffer;
  readonly #checksum: Checksum;
  #frames = 0;
  /** True if all frames so far are valid. */
  #isIntact: boolean;
  /**
   * True after the end of the transaction that contains the first bad frame. Later frames belong to later transactions.
   */
  #isPastBadTransaction = false;

  constructor(salts: Buffer, checksum: Checksum, isIntact: boolean) {
    this.#salts = salts;
    this.#checksum = checksum;
    this.#isIntact = isIntact;
  }

  add(frame: Buffer): void {
    this.#frames += 1;
    const hasSalts = frame.compare(this.#salts, 0, 8, 8, 16) === 0;
    const isCommit = frame.readUInt32BE(4) !== 0;
    if (this.#isIntact) {
      this.#checksum.add(frame, 0, 8);
      this.#checksum.add(frame, FRAME_HEADER_BYTES, frame.length);
      this.#isIntact = hasSalts && this.#checksum.equals(frame, 16);
      if (this.#isIntact && isCommit) {
        this.readableBeforeLast = this.readable;
        this.readable = this.#frames;
      }
    } else if (this.#isPastBadTransaction && hasSalts) {
      this.unreadable += 1;
    }
    if (!this.#isIntact && hasSalts && isCommit) this.#isPastBadTransaction = true;
  }
}

/** Checksum of a log, over 32-bit words: s0 += word0 + s1; s1 += word1 + s0. */
class Checksum {
  readonly #isBigEndian: boolean;
  #s0 = 0;
  #s1 = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  add(buffer: Buffer, start: number, end: number): void {
    let s0 = this.#s0;
    let s1 = this.#s1;
    const isLittleEndian = !this.#isBigEndian;
    const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    for (let at = start; at < end; at += 8) {
      s0 = (s0 + view.getUint32(at, isLittleEndian) + s1) >>> 0;
      s1 = (s1 + view.getUint32(at + 4, isLittleEndian) + s0) >>> 0;
    }
    this.#s0 = s0;
    this.#s1 = s1;
  }

  equals(buffer: Buffer, at: number): boolean {
    return buffer.readUInt32BE(at) === this.#s0 && buffer.readUInt32BE(at + 4) === this.#s1;
  }
}
