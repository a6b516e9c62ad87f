import { compileGlob } from "@svc-runtime/protocol";

const PATTERN = /^(?:(\*|https?):\/\/)?((?:\[[^\]]*\])|[^/:]+)(?::(\*|[0-9]+))?(\/.*)?$/i;

/**
 * Returns true if an entry of the allow list matches the URL. `*.example.com` matches the host; with a port also the
 * port; with a scheme also scheme, port (default: the scheme's) and path (default: any). `*` matches any characters
 * within one of these parts, so the pattern of the host can never match a part of the path or vice versa.
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
