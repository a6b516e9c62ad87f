import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { VERSION } from "@svc/sdk";
import type { Check, Finding } from "./finding.ts";
import { manifestsOf } from "./manifests.ts";

/** The SDKs that are installed in the project's workers are of this svc's version. */
export const sdkVersions: Check = async (surroundings) => {
  const manifests = await manifestsOf(surroundings);
  const findings = await Promise.all(
    manifests.map(async ({ name, folder }): Promise<readonly Finding[]> => {
      const versions = [await nodeSdk(folder), await pythonSdk(folder)].filter((version) => version !== undefined);
      return versions.map((version) => finding(name, { version, path: pathFrom(surroundings.shell.cwd, folder) }));
    }),
  );
  return findings.flat();
};

/** As a command line takes it, where a word without a slash would be a name. */
function pathFrom(cwd: string, folder: string): string {
  const path = relative(cwd, folder);
  return path.startsWith("..") ? path : `./${path}`;
}

function finding(worker: string, { version, path }: { readonly version: string; readonly path: string }): Finding {
  const check = `sdk of ${worker}`;
  if (version === VERSION) return { check, status: "ok", message: version };
  return {
    check,
    status: "warning",
    message: `${version}, while this svc is ${VERSION}`,
    remedy: `Take the packages of this svc (svc create in the project's folder renews sdk/), then: svc worker add ${path} --force`,
  };
}

async function nodeSdk(folder: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(folder, "node_modules/@svc/sdk/package.json"), "utf8");
    const { version } = JSON.parse(text) as { readonly version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

async function pythonSdk(folder: string): Promise<string | undefined> {
  const lib = join(folder, ".venv/lib");
  for (const python of await namesIn(lib)) {
    const packages = await namesIn(join(lib, python, "site-packages"));
    const version = packages.map((name) => /^svc-(.+)\.dist-info$/.exec(name)?.[1]).find((found) => found !== undefined);
    if (version !== undefined) return version;
  }
  return undefined;
}

function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
