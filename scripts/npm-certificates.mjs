// Passes certificates on to npm without Node's variable for them. Plain Node without dependencies.
import { readFile, writeFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";

/**
 * Resolves with the environment without NODE_EXTRA_CA_CERTS, and with an option for npm, pnpm and Yarn to trust the same
 * certificates: those of Node and those of the variable, which are written to `file`. Node 20 parses the certificates of
 * the variable whenever a process starts: those of a Debian system take more than twice the processor time of the rest of
 * its start. Tests start thousands of processes, and only package managers need the certificates.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} file
 */
export async function withCertificatesForNpm({ NODE_EXTRA_CA_CERTS: extra, ...env }, file) {
  if (!extra) return env;
  const text = await readFile(extra, "utf8").catch(() => undefined);
  // Node only warns if it cannot read the file.
  if (text === undefined) return env;
  await writeFile(file, [...rootCertificates, text].join("\n"));
  return { npm_config_cafile: file, ...env };
}
