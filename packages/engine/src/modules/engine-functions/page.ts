import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import type { Dialect } from "./caller-view.ts";

/**
 * Maximum size of the rows of one page, in bytes. A page must fit into a frame of 16 MiB. Published clients do not
 * support pages, so they get as many rows as fit into one frame.
 */
const MAX_PAGE_BYTES = { svc: 8 * 1024 * 1024, published: 15 * 1024 * 1024 } as const;
const MAX_PAGE_ROWS = 10_000;

/** Paging members of every list function. */
export const pageInput = {
  limit: z
    .number()
    .int()
    .min(1)
    .max(MAX_PAGE_ROWS)
    .nullish()
    .meta({ description: `Most rows of one answer. Default ${MAX_PAGE_ROWS}` }),
  offset: z.number().int().min(0).nullish().meta({ description: "Rows to skip. Default 0" }),
};

export interface PageRequest {
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
}

/**
 * Returns `{[name]: rows, ...more}` with the requested rows, as many as fit into one frame. SDK clients also get
 * `total`, and `next_offset` if rows are left. Published clients get the published members only.
 */
export function page<View>(
  name: string,
  views: readonly View[],
  rowOf: (view: View) => unknown,
  options: {
    readonly request: PageRequest;
    readonly dialect: Dialect;
    readonly more?: Readonly<Record<string, unknown>>;
  },
): Payload {
  const { request, dialect, more = {} } = options;
  const offset = request.offset ?? 0;
  const isOurs = dialect === "svc";
  const wanted = views.slice(offset, isOurs || request.limit ? offset + (request.limit ?? MAX_PAGE_ROWS) : undefined);
  const maxBytes = isOurs ? MAX_PAGE_BYTES.svc : MAX_PAGE_BYTES.published;
  const rows: string[] = [];
  let bytes = 0;
  for (const view of wanted) {
    const row = JSON.stringify(rowOf(view));
    bytes += Buffer.byteLength(row) + 1;
    if (bytes > maxBytes && rows.length > 0) break;
    rows.push(row);
  }
  const next = offset + rows.length;
  const place = isOurs
    ? { total: views.length, ...(next < views.length && rows.length > 0 ? { next_offset: next } : {}) }
    : {};
  const others = Object.entries({ ...more, ...place }).map(
    ([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`,
  );
  return Payload.fromText(`{${JSON.stringify(name)}:[${rows.join(",")}]${others.join("")}}`);
}
