import type { HttpTestResult } from "../../../../contract/api.ts";

type ShownBody =
  | { readonly kind: "empty" }
  | { readonly kind: "json" | "text" | "html"; readonly text: string }
  | { readonly kind: "image"; readonly url: string; readonly base64: string }
  | { readonly kind: "binary"; readonly base64: string };

/**
 * Chooses how a response's body is shown. That depends on its bytes and its content type. HTML is shown as text and
 * never rendered.
 */
export function bodyOf({ body, headers }: Pick<HttpTestResult, "body" | "headers">): ShownBody {
  const type =
    (headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "")
      .split(";", 1)[0]
      ?.trim()
      .toLowerCase() ?? "";
  if ("base64" in body) {
    if (body.base64 === "") return { kind: "empty" };
    return /^image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/.test(type)
      ? { kind: "image", url: `data:${type};base64,${body.base64}`, base64: body.base64 }
      : { kind: "binary", base64: body.base64 };
  }
  if (body.text === "") return { kind: "empty" };
  if (type === "application/json" || type.endsWith("+json")) return { kind: "json", text: body.text };
  return { kind: type === "text/html" ? "html" : "text", text: body.text };
}

const ROW = 16;

/** Formats the first bytes of binary data as a hex dump, e.g. `00000000  89 50 4e 47 …  .PNG`. */
export function hexDump(base64: string, maxBytes = 4_096): string {
  // Four characters of base64 are three bytes, so the text can be cut only at a multiple of four.
  const binary = atob(base64.slice(0, Math.ceil(maxBytes / 3) * 4));
  const lines: string[] = [];
  for (let from = 0; from < Math.min(binary.length, maxBytes); from += ROW) {
    const codes = Array.from(binary.slice(from, Math.min(from + ROW, maxBytes)), (character) =>
      character.charCodeAt(0),
    );
    const hex = codes.map((code) => code.toString(16).padStart(2, "0")).join(" ");
    const text = codes.map((code) => (code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : ".")).join("");
    lines.push(`${from.toString(16).padStart(8, "0")}  ${hex.padEnd(ROW * 3 - 1)}  ${text}`);
  }
  return lines.join("\n");
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
