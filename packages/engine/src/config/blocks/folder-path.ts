import { z } from "zod";

/**
 * A path of a folder in the config file, a flag or a variable. The code that reads the setting resolves relative paths.
 */
export const folderSchema = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), { message: "cannot hold a NUL character" })
  .refine((path) => path !== "~" && !path.startsWith("~/"), {
    message: "`~` is not expanded here; write the path in full, or relative to the config file",
  });
