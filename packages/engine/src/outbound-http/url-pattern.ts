import { compileGlob } from "@svc-runtime/protocol";

const PATTERN = /^(?:(\*|https?):\/\/)?((?:\[[^\]]*\])|[^/:]+)(?::(\*|[0-9]+))?(\/.*)?$/i;

/**
 * True if an entry of the allow list matches the URL. The parts of an entry are:
 * - The host, e.g. `*.example.com`. It must match.
 * - A port, if the entry has one. It must match too.
 * - A scheme, if the entry has one. Then the scheme, the port (default: the scheme's) and the path (default: any) must
 *   match.
 *
 * `*` matches any characters within one of these parts. So the pattern of the host never matches a part of the path,
 * and vice versa.
 */
export function matchesUrlPattern(pattern: string, url: URL): boolean {
  const parts = PATTERN.exec(pattern);
  if (parts === null) return false;
  const [, scheme, host = "", port, path] = parts;
  if (!compileGlob(host.toLowerCase())(hostOf(url))) return false;
  if (port !== undefined && port !== "*" && port !== portOf(url)) return false;
  if (scheme === undefined) return true;
  if (scheme !== "*" && `${scheme.toLowerCase()}:` !== url.protocol) return false;
  if (port === undefined && url.port !== "") return false;
  return path === undefined || compileGlob(path)(url.pathname);
}

/** Returns the host in lower case, without a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, "");
}

/** Returns the explicit port or the scheme's default. */
export function portOf(url: URL): string {
  return url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
}
