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
  if (!matchesGlob(host.toLowerCase(), hostOf(url))) return false;
  if (port !== undefined && port !== "*" && port !== portOf(url)) return false;
  if (scheme === undefined) return true;
  if (scheme !== "*" && `${scheme.toLowerCase()}:` !== url.protocol) return false;
  if (port === undefined && url.port !== "") return false;
  return path === undefined || matchesGlob(path, url.pathname);
}

/** The host in lower case, without the dot that may end a full name. */
export function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, "");
}

/** Also where the URL leaves it to its scheme. */
export function portOf(url: URL): string {
  return url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
}

/** `*` stands for any number of any characters. Takes time in proportion to the product of the lengths at worst, and no recursion. */
function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let retry = 0;
  while (from < text.length) {
    if (glob[at] === "*") {
      star = at++;
      retry = from;
    } else if (glob[at] === text[from]) {
      at++;
      from++;
    } else if (star !== -1) {
      at = star + 1;
      from = ++retry;
    } else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}
