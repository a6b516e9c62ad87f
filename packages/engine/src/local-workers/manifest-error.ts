import { FileError } from "../yaml/problem.ts";

/** Thrown when a folder cannot be run as a worker. */
export class ManifestError extends FileError {
  override readonly name = "ManifestError";
}
