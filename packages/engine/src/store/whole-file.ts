import { CallError } from "@svc-runtime/protocol";
import { createFile, replaceFile } from "../files/replace-file.ts";

/** Like `createFile`, but rejects with `storage_failed`. */
export function writeWhole(file: string, write: (draft: string) => Promise<void>): Promise<{ readonly bytes: number }> {
  return storing(file, () => createFile(file, write));
}

/** Like `replaceFile`, but rejects with `storage_failed`. */
export function replaceWhole(file: string, content: string | Iterable<string>): Promise<void> {
  return storing(file, () => replaceFile(file, content));
}

async function storing<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (CallError.is(cause)) throw cause;
    const reason = `${file} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CallError("storage_failed", reason, { details: { reason, file }, cause });
  }
}
