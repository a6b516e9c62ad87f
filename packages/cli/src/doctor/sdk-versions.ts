import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { VERSION } from "@svc-runtime/sdk";
import type { Check, Finding } from "./finding.ts";
import { manifestsOf } from "./toolchains.ts";

/** Checks that the SDKs installed in the project's workers have the version of this svc. */
export const sdkVersions: Check = async (context) => {
  const manifests = await manifestsOf(context);
  const findings = await Promise.all(
    manifests.map(async ({ name, folder }): Promise<readonly Finding[]> => {
      const versions = [await nodeSdk(folder), await pythonSdk(folder)].filter((version) => version !== undefined);
      return versions.map((version) => finding(name, { version, path: pathFrom(context.shell.cwd, folder) }));
    }),
  );
  return findings.flat();
};

/**
 * Returns a path that can be used on the command line. It must contain a slash, because a word without one is a name.
 */
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
    message: `${version}, but this svc is ${VERSION}`,
    remedy: `Run svc create in the project's folder to update sdk/ to this version, then: svc worker add ${path} --force`,
  };
}

async function nodeSdk(folder: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(folder, "node_modules/@svc-runtime/sdk/package.json"), "utf8");
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
    const version = packages
      .map((name) => /^svc_runtime-([^+]+)(?:\+project)?\.dist-info$/.exec(name)?.[1])
      .find((found) => found !== undefined);
    if (version !== undefined) return version;
  }
  return undefined;
}

function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
