import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads a package that was installed into `folder` at run time. The type parameter is the caller's declaration. */
export async function loadInstalled<Module>(folder: string, name: string): Promise<Module> {
  const require = createRequire(join(folder, "package.json"));
  const loaded = (await import(pathToFileURL(require.resolve(name)).href)) as Module & { readonly default?: Module };
  return loaded.default ?? loaded;
}
