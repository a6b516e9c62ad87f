import type { WorkerManifest } from "@svc/engine/local-workers";
import type { Surroundings } from "./finding.ts";

/** The manifests of the config file's workers; those with mistakes are the config check's to tell. */
export async function manifestsOf({ report }: Pick<Surroundings, "report">): Promise<readonly WorkerManifest[]> {
  const { ManifestError, readManifest } = await import("@svc/engine/local-workers");
  const read = async (path: string): Promise<readonly WorkerManifest[]> => {
    try {
      return [await readManifest(path)];
    } catch (error) {
      if (error instanceof ManifestError) return [];
      throw error;
    }
  };
  return (await Promise.all((report.config?.localWorkers ?? []).map(({ path }) => read(path)))).flat();
}
