import { Refusal } from "../refusal.ts";

/** The parts of a request target. */
export interface RequestTarget {
  /** Path as sent, percent-encoded. */
  readonly rawPath: string;
  /** The text after `?`, as sent; empty if there is none. */
  readonly rawQuery: string;
  /** The path, decoded once for the router. Only `%`, `?` and `#` are encoded again. */
  readonly path: string;
}

// Scheme and authority of an absolute-form target, which clients of proxies send.
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;
// Paths with only these characters are used unchanged. Percent signs must be decoded, and dots may form a dot segment.
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_~!$&'()*+,;=:@-]*)+$/;
const NEEDS_ENCODING = /[%?#]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const FORBIDDEN_IN_SEGMENT = /[/\\\u0000]/;
const OUTSIDE_ASCII = /[^\u0021-\u007e]/;

/**
 * Splits and decodes the request target. Throws 400 if the path is malformed, or if decoding changes its meaning, e.g.
 * because a segment contains an encoded slash.
 */
export function readTarget(target: string): RequestTarget {
  const originForm = target.startsWith("/") ? target : target.replace(ABSOLUTE_FORM, "");
  const mark = originForm.indexOf("?");
  const rawQuery = mark === -1 ? "" : originForm.slice(mark + 1);
  const rawPath = (mark === -1 ? originForm : originForm.slice(0, mark)) || "/";
  if (PLAIN_PATH.test(rawPath)) return { rawPath, rawQuery, path: rawPath };
  return { rawPath, rawQuery, path: decodePath(rawPath) };
}

function decodePath(rawPath: string): string {
  if (!rawPath.startsWith("/")) throw malformedPath("the request target must be a path that begins with /");
  if (rawPath.includes("#"))
    throw malformedPath("the path holds a #; a fragment is not sent to servers, a literal # is written %23");
  if (OUTSIDE_ASCII.test(rawPath))
    throw malformedPath("the path holds characters outside ASCII; percent-encode their UTF-8 bytes");
  const segments = rawPath.slice(1).split("/");
  const decoded = segments.map((segment) => {
    const result = decodeSegment(segment);
    if ("problem" in result)
      throw malformedPath(`the path segment ${JSON.stringify(segment.slice(0, 100))} ${result.problem}`);
    return result.text.replace(NEEDS_ENCODING, encodeURIComponent);
  });
  return `/${decoded.join("/")}`;
}

/** Percent-decodes a path segment once; returns the problem if it is malformed. */
export function decodeSegment(segment: string): { readonly text: string } | { readonly problem: string } {
  let text = segment;
  if (segment.includes("%")) {
    try {
      text = decodeURIComponent(segment);
    } catch {
      return { problem: "contains a percent escape that is not valid UTF-8" };
    }
  }
  if (FORBIDDEN_IN_SEGMENT.test(text)) return { problem: "decodes to a slash, a backslash or NUL" };
  if (text === "." || text === "..") return { problem: "is a dot segment" };
  return { text };
}

function malformedPath(message: string): Refusal {
  return new Refusal({ status: 400, code: "invalid_request", message });
}
