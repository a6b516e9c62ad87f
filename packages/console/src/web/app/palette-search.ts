import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { t } from "../labels/translate.ts";
import { call } from "../lib/api.ts";
import { CALLS_BY_CONSOLES } from "../lib/calls-by-consoles.ts";
import { duration } from "../lib/time.ts";
import { asyncWorkText } from "../model/trace-outcome.ts";
import type { TraceSummary } from "../model/trace-types.ts";

/** One search result with its address and label. */
export interface Hit {
  readonly href: string;
  readonly label: string;
  /** Additional information that is shown next to the label. */
  readonly note?: string | undefined;
}

export interface HitGroup {
  readonly heading: string;
  readonly hits: readonly Hit[];
  /** Reason why this search failed. */
  readonly problem?: string | undefined;
}

const WAIT_MS = 150;
const MAX_HITS = 6;
/** Maximum number of scopes in which keys are searched by prefix. */
const MAX_SCOPES = 8;

const segment = encodeURIComponent;

interface Search {
  readonly heading: string;
  find(text: string, signal: AbortSignal): Promise<readonly Hit[]>;
}

const SEARCHES: readonly Search[] = [
  {
    heading: t`Functions`,
    async find(search, signal) {
      const found = await call<{ functions: readonly { function_id: string; worker_name: string }[] }>(
        "engine::functions::list",
        { search, limit: MAX_HITS },
        { signal },
      );
      return found.functions.map(({ function_id, worker_name }) => ({
        href: `/functions/${segment(function_id)}`,
        label: function_id,
        note: worker_name,
      }));
    },
  },
  {
    heading: t`Workers`,
    async find(search, signal) {
      const found = await call<{ workers: readonly { id: string; name: string; runtime: string }[] }>(
        "engine::workers::list",
        { search, limit: MAX_HITS },
        { signal },
      );
      return found.workers.map(({ id, name, runtime }) => ({
        href: `/workers/${segment(id)}`,
        label: name,
        note: `${runtime} · ${id.slice(0, 8)}`,
      }));
    },
  },
  {
    heading: t`Triggers`,
    async find(search, signal) {
      interface Found {
        readonly registered_triggers: readonly {
          readonly id: string;
          readonly trigger_type: string;
          readonly function_id: string;
        }[];
      }
      const found = await call<Found>("engine::registered-triggers::list", { search, limit: MAX_HITS }, { signal });
      return found.registered_triggers.map(({ id, trigger_type, function_id }) => ({
        href: `/triggers/${segment(id)}`,
        label: `${trigger_type} → ${function_id}`,
        note: id.slice(0, 8),
      }));
    },
  },
  { heading: t`State`, find: findState },
  {
    heading: t`Traces`,
    async find(text, signal) {
      if (/^[0-9a-f]{32}$/i.test(text))
        return [{ href: `/traces/${text.toLowerCase()}`, label: text.toLowerCase(), note: t`by ID` }];
      interface Found {
        readonly spans: readonly { readonly trace_id: string; readonly name: string; readonly trace: TraceSummary }[];
      }
      const found = await call<Found>(
        "engine::traces::list",
        { text, limit: MAX_HITS, exclude_attributes: CALLS_BY_CONSOLES },
        { signal },
      );
      return found.spans.map(({ trace_id, name, trace }) => ({
        href: `/traces/${trace_id}`,
        label: name,
        note: traceNote(trace),
      }));
    },
  },
  {
    heading: t`Logs`,
    async find(text, signal) {
      interface Found {
        readonly logs: readonly {
          readonly id: string;
          readonly body: unknown;
          readonly severity_text: string;
          readonly service_name: string;
        }[];
      }
      const found = await call<Found>("engine::logs::list", { text, limit: MAX_HITS }, { signal });
      return found.logs.map(({ id, body, severity_text, service_name }) => ({
        href: `/logs/${segment(id)}`,
        label: typeof body === "string" ? body : JSON.stringify(body),
        note: `${severity_text} · ${service_name}`,
      }));
    },
  },
];

/** Returns the outcome of a trace, in the words of the Traces page. */
function traceNote({ trace_id, status, duration_ms, async_work }: TraceSummary): string {
  const parts = [
    { ok: "OK", error: t`Error`, pending: t`Pending` }[status],
    duration_ms === null ? undefined : duration(duration_ms),
    async_work === undefined ? undefined : t`asynchronous work ${asyncWorkText(async_work)}`,
    trace_id.slice(0, 8),
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}

async function findState(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const { items } = await call<{ items: readonly { scope: string; items: number }[] }>(
    "state::groups",
    { limit: 200 },
    { signal },
  );
  const user = items.filter(({ scope }) => !scope.startsWith("__console"));
  const named = user.filter(({ scope }) => scope.toLowerCase().includes(text.toLowerCase()));
  const pages = await Promise.all(
    user.slice(0, MAX_SCOPES).map(async ({ scope }) => {
      const page = await call<{ items: readonly { key: string }[] }>(
        "state::entries",
        { scope, prefix: text, limit: 3 },
        { signal },
      );
      return page.items.map(({ key }) => ({
        href: `/states/${segment(scope)}/${segment(key)}`,
        label: key,
        note: scope,
      }));
    }),
  );
  return [
    ...named.map(({ scope, items: count }) => ({
      href: `/states/${segment(scope)}`,
      label: scope,
      note: t`scope, ${count} items`,
    })),
    ...pages.flat(),
  ];
}

/**
 * Searches the engine for the text. Each kind is a separate search, so that a failed search does not hide the results
 * of others.
 */
export function usePaletteSearch(text: string): {
  readonly groups: readonly HitGroup[];
  readonly isSearching: boolean;
} {
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data = [], isFetching } = useQuery({
    queryKey: ["palette", asked],
    enabled: asked.length > 1,
    queryFn: ({ signal }) => Promise.all(SEARCHES.map((search) => groupOf(search, asked, signal))),
  });
  return { groups: asked.length > 1 ? data : [], isSearching: isFetching || text.trim() !== asked };
}

async function groupOf({ heading, find }: Search, text: string, signal: AbortSignal): Promise<HitGroup> {
  try {
    return { heading, hits: (await find(text, signal)).slice(0, MAX_HITS) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { heading, hits: [], problem: (error as Error).message };
  }
}
