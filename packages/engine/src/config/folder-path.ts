import { z } from "zod";

/** A folder as written in the config file, a flag or a variable; relative ones are resolved by the reader. */
export const folderSchema = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), { message: "cannot hold a NUL character" })
  .refine((path) => path !== "~" && !path.startsWith("~/"), { message: "`~` is not expanded here; write the path in full, or relative to the config file" });
