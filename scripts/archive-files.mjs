// Reads the files of packages, so that they are checked as users receive them. Plain Node without dependencies.
import { gunzipSync, inflateRawSync } from "node:zlib";

const TAR_BLOCK = 512;
const ZIP_END = 0x06054b50;
const ZIP_ENTRY = 0x02014b50;

/**
 * Returns the files of a package by path, with `/`: of a wheel (a zip archive), or of a tarball without its top folder.
 * Throws an Error for an archive with links or other entries that are neither files nor folders.
 *
 * @param {string} name Name of the archive's file.
 * @param {Buffer} data
 * @returns {Map<string, Buffer>}
 */
export function archiveFiles(name, data) {
  if (name.endsWith(".whl")) return zipFiles(data);
  return new Map([...tarFiles(gunzipSync(data))].map(([path, content]) => [path.replace(/^[^/]+\//, ""), content]));
}

function tarFiles(data) {
  const files = new Map();
  let longPath;
  for (let at = 0; data[at] !== undefined && data[at] !== 0; ) {
    const text = (from, length) => data.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
    const bytes = Number.parseInt(text(124, 12), 8);
    const type = text(156, 1);
    const path = [text(345, 155), text(0, 100)].filter((part) => part !== "").join("/");
    const content = data.subarray(at + TAR_BLOCK, at + TAR_BLOCK + bytes);
    at += TAR_BLOCK * (1 + Math.ceil(bytes / TAR_BLOCK));
    if (type === "x") {
      longPath = /^\d+ path=(.*)$/m.exec(content.toString("utf8"))?.[1];
      continue;
    }
    if (type === "" || type === "0") files.set(longPath ?? path, content);
    else if (type !== "5") throw new Error(`${longPath ?? path} is neither a file nor a folder (type ${type})`);
    longPath = undefined;
  }
  return files;
}

function zipFiles(data) {
  const end = data.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end === -1 || data.readUInt32LE(end) !== ZIP_END) throw new Error("not a zip archive");
  const files = new Map();
  let at = data.readUInt32LE(end + 16);
  for (let left = data.readUInt16LE(end + 10); left > 0; left--) {
    if (data.readUInt32LE(at) !== ZIP_ENTRY) throw new Error("damaged zip archive");
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => data.readUInt16LE(at + field));
    const path = data.toString("utf8", at + 46, at + 46 + nameBytes);
    const isCompressed = data.readUInt16LE(at + 10) !== 0;
    const start = data.readUInt32LE(at + 42);
    const contentAt = start + 30 + data.readUInt16LE(start + 26) + data.readUInt16LE(start + 28);
    const content = data.subarray(contentAt, contentAt + data.readUInt32LE(at + 20));
    if (!path.endsWith("/")) files.set(path, isCompressed ? inflateRawSync(content) : content);
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return files;
}
