import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withCertificatesForNpm } from "./npm-certificates.mjs";

let folder;
let file;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-certificates-"));
  file = join(folder, "all.pem");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the environment of tests", () => {
  it("has the certificates of NODE_EXTRA_CA_CERTS as an option of npm, beside those of Node", async () => {
    const extra = join(folder, "extra.pem");
    await writeFile(extra, "-----BEGIN CERTIFICATE-----\nMINE\n-----END CERTIFICATE-----\n");
    expect(await withCertificatesForNpm({ A: "1", NODE_EXTRA_CA_CERTS: extra }, file)).toEqual({
      A: "1",
      npm_config_cafile: file,
    });
    const written = await readFile(file, "utf8");
    expect(written).toContain("\nMINE\n");
    expect(written.match(/BEGIN CERTIFICATE/g)).toHaveLength(rootCertificates.length + 1);
  });

  it("keeps the file that the user chose for npm", async () => {
    const extra = join(folder, "extra.pem");
    await writeFile(extra, "");
    const env = { NODE_EXTRA_CA_CERTS: extra, npm_config_cafile: "/mine.pem" };
    expect(await withCertificatesForNpm(env, file)).toEqual({ npm_config_cafile: "/mine.pem" });
  });

  it("does not change without the variable, and lacks the option if its file is missing, as Node ignores it", async () => {
    expect(await withCertificatesForNpm({ A: "1" }, file)).toEqual({ A: "1" });
    expect(await withCertificatesForNpm({ A: "1", NODE_EXTRA_CA_CERTS: join(folder, "none") }, file)).toEqual({
      A: "1",
    });
  });
});
