// Adds the optional packages of other platforms to package-lock.json. A registry that mirrors only some platforms makes `npm install` leave
// them out, and `npm ci` then refuses the lock file. Run after `npm install` on such a machine: node scripts/complete-lock.mjs package-lock.json
import { readFileSync, writeFileSync } from "node:fs";

const file = process.argv[2];
const lock = JSON.parse(readFileSync(file, "utf8"));
const packages = lock.packages;
const osNames = ["android", "darwin", "freebsd", "linux", "openbsd", "openharmony", "win32", "sunos", "aix", "netbsd"];
const cpuNames = ["arm64", "x64", "ia32", "arm", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32"];
let added = 0;
for (const [path, entry] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`;
    const top = `node_modules/${name}`;
    if (packages[nested] || packages[top]) continue;
    const parts = name.split("/").at(-1).split("-");
    const os = osNames.find((o) => parts.includes(o));
    const cpu = cpuNames.find((c) => parts.includes(c));
    if (!os || !/^\d/.test(range)) {
      console.error(`left out: ${name}@${range} (${path})`);
      continue;
    }
    packages[top] = {
      version: range,
      ...(cpu ? { cpu: [cpu] } : {}),
      ...(entry.dev ? { dev: true } : {}),
      ...(parts.includes("musl") ? { libc: ["musl"] } : parts.includes("gnu") && os === "linux" ? { libc: ["glibc"] } : {}),
      optional: true,
      os: [os],
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.error(`added ${added}`);
