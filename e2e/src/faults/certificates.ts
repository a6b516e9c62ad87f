// Certificates for servers off loopback, which svc requires.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Makes an authority, and a certificate of it for these IP addresses. Returns the files, which are in `folder`. */
export function makeCertificate(
  folder: string,
  addresses: readonly string[],
): { readonly ca: string; readonly cert: string; readonly key: string } {
  const [ca, caKey, cert, key] = ["ca.pem", "ca.key", "server.pem", "server.key"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  const request = (name: string, keyFile: string, file: string, ...args: readonly string[]): void => {
    const all = ["req", "-x509", ...NEW_KEY, "-subj", `/CN=${name}`, "-keyout", keyFile, "-out", file, ...args];
    execFileSync("openssl", all, { stdio: ["ignore", "ignore", "pipe"], timeout: 60_000 });
  };
  request("tests", caKey, ca);
  const names = `subjectAltName=${addresses.map((address) => `IP:${address}`).join(",")}`;
  const isNoAuthority = "basicConstraints=critical,CA:FALSE";
  request("server", key, cert, "-CA", ca, "-CAkey", caKey, "-addext", names, "-addext", isNoAuthority);
  return { ca, cert, key };
}
