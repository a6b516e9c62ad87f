import { compileGlob } from "@svc/protocol";

const PATTERN = /^(?:(\*|https?):\/\/)?((?:\[[^\]]*\])|[^/:]+)(?::(\*|[0-9]+))?(\/.*)?$/i;

/**
 * True when an entry of the allow list names the URL. `*.example.com` matches the host; with a port also the port; with a scheme also
 * scheme, port (default: the scheme's own) and path (default: any). `*` stands for any characters within one of these parts,
 * so a pattern's host can never spill over into the path or the other way round.
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

/** The host in lower case, without the dot that may end a full name. */
export function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, "");
}

/** Also where the URL leaves it to its scheme. */
export function portOf(url: URL): string {
  return url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
}
