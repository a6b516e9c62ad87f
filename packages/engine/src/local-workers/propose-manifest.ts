import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { problemOfFile } from "../yaml/problem.ts";
import { MAX_PACKAGE_FILE_BYTES, readBoundedFile } from "./bounded-file.ts";
import { type Detection, detect } from "./detect.ts";
import { inferredPackageManager } from "./inferred-commands.ts";
import { MANIFEST_FILE, ManifestError, REFERENCE_MANIFEST_FILE } from "./manifest.ts";
import { type PackageManager, type RuntimeKind, runtimeKinds } from "./runtime-kinds.ts";

/** A proposed manifest for a folder without one. */
export interface ManifestProposal
  extends Pick<Extract<Detection, { found: "manifest" }>, "kind" | "evidence" | "text"> {
  /** Absolute path of the file to write. */
  readonly file: string;
}

/** Subfolders that are searched for programs, and the maximum number of folders below `cmd` that are read. */
const PROGRAM_FOLDERS = ["src", "src/bin", "cmd"];
const MAX_PACKAGES = 50;

/**
 * Returns the manifest that fits a folder's files. Returns undefined if the folder has a manifest, or is not a known
 * kind of project. Throws ManifestError if it is a project, but its author must choose what to start.
 */
export async function proposeManifest(path: string): Promise<ManifestProposal | undefined> {
  const folder = resolve(path);
  const top = await namesIn(folder);
  if (top.includes(MANIFEST_FILE) || top.includes(REFERENCE_MANIFEST_FILE)) return undefined;
  const below = await Promise.all(
    PROGRAM_FOLDERS.map(async (sub) => (await namesIn(join(folder, sub))).map((name) => `${sub}/${name}`)),
  );
  const packages = below.flat().filter((name) => name.startsWith("cmd/"));
  const commands = await Promise.all(
    packages
      .slice(0, MAX_PACKAGES)
      .map(async (sub) => (await namesIn(join(folder, sub))).map((name) => `${sub}/${name}`)),
  );
  const managers = new Map<RuntimeKind, PackageManager | undefined>();
  for (const kind of runtimeKinds) managers.set(kind, await inferredPackageManager(kind, { folder, files: top }));
  const found = detect({
    name: basename(folder),
    files: [...top, ...below.flat(), ...commands.flat()],
    ...(await startOf(folder)),
    packageManagerOf: (kind) => managers.get(kind),
  });
  const file = join(folder, MANIFEST_FILE);
  if (found.found === "unclear") {
    const message = `the folder has no manifest, and none can be created: ${found.problem}; write a manifest`;
    throw new ManifestError(file, [problemOfFile(message)]);
  }
  return found.found === "manifest"
    ? { kind: found.kind, evidence: found.evidence, text: found.text, file }
    : undefined;
}

/** Returns the names in a folder. Empty if it is missing or unreadable. */
function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).then(
    (names) => names.sort(),
    () => [],
  );
}

async function startOf(
  folder: string,
): Promise<{ readonly main: string | undefined; readonly hasStartScript: boolean }> {
  try {
    const parsed = JSON.parse(await readBoundedFile(join(folder, "package.json"), MAX_PACKAGE_FILE_BYTES)) as {
      main?: unknown;
      scripts?: { start?: unknown };
    } | null;
    return {
      main: typeof parsed?.main === "string" ? parsed.main : undefined,
      hasStartScript: typeof parsed?.scripts?.start === "string",
    };
  } catch {
    // Ignored: the install reports the problem of the file.
    return { main: undefined, hasStartScript: false };
  }
}
