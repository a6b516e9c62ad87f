import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "../lib/json.ts";
import { isSecretName } from "../lib/secrets.ts";
import { bytes } from "../lib/time.ts";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { CopyButton } from "./copy-button.tsx";

/** More text than this is shown on request only, in characters. */
const LARGE = 256 * 1024;
const PAGE = 100;

/** JSON as a tree: opened as far as one looks, numbers to the digit, secrets masked until asked for. */
export function JsonView({
  text,
  name = "value",
  openTo = 2,
  className,
}: {
  readonly text: string;
  readonly name?: string;
  readonly openTo?: number;
  readonly className?: string;
}) {
  const [isForced, setForced] = useState(false);
  const [isRaw, setRaw] = useState(false);
  const isLarge = text.length > LARGE && !isForced;
  const parsed = useMemo(() => (isLarge ? undefined : read(text)), [text, isLarge]);
  return (
    <div className={cn("flex min-h-0 flex-col", className)}>
      <div className="flex items-center gap-1 pb-1 text-[11px] text-ink-3">
        <span>{bytes(new Blob([text]).size)}</span>
        <span className="flex-1" />
        {parsed?.ok === true && (
          <Button look="ghost" className="h-6 px-1.5 text-[11px]" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            {isRaw ? "Tree" : "Raw"}
          </Button>
        )}
        <CopyButton text={text} label={`Copy ${name}`} className="h-6 w-6" />
        <Button look="ghost" className="h-6 px-1.5 text-[11px]" onClick={() => download(text, `${name}.json`)}>
          Download
        </Button>
      </div>
      {parsed === undefined ? (
        <p className="rounded-md bg-raised p-3 text-ink-2">
          {bytes(text.length)} of JSON.{" "}
          <button type="button" className="text-accent underline" onClick={() => setForced(true)}>
            Show it anyway
          </button>
        </p>
      ) : parsed.ok && !isRaw ? (
        <div className="overflow-auto rounded-md bg-raised p-2 font-mono text-[12px]">
          <Node value={parsed.value} openTo={openTo} path="$" />
        </div>
      ) : (
        <pre className="overflow-auto whitespace-pre-wrap break-words rounded-md bg-raised p-2">{parsed.ok ? formatJson(parsed.value) : text}</pre>
      )}
    </div>
  );
}

function read(text: string): { readonly ok: true; readonly value: JsonValue } | { readonly ok: false } {
  try {
    return { ok: true, value: parseJson(text) };
  } catch {
    return { ok: false };
  }
}

export function download(text: string, name: string, type = "application/json"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

function Node({ value, label, openTo, path }: { readonly value: JsonValue; readonly label?: string; readonly openTo: number; readonly path: string }) {
  const [isOpen, setOpen] = useState(openTo > 0);
  const [shown, setShown] = useState(PAGE);
  const head = label === undefined ? null : <span className="text-violet">{JSON.stringify(label)}: </span>;
  if (typeof value !== "object" || value === null || isBigNumber(value)) {
    return (
      <div className="break-words pl-4">
        {head}
        <Scalar value={value} isSecret={label !== undefined && isSecretName(label)} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const entries: readonly (readonly [string, JsonValue])[] = Object.entries(value);
  const summary = isList ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        title={path}
        onClick={() => setOpen(!isOpen)}
        className="inline-flex min-h-6 min-w-6 items-center rounded text-left hover:bg-hover"
      >
        {isOpen ? <ChevronDown aria-hidden className="size-4 text-ink-3" /> : <ChevronRight aria-hidden className="size-4 text-ink-3" />}
        {head}
        <span className="text-ink-3">{summary}</span>
      </button>
      {isOpen && (
        <div className="ml-2 border-line border-l pl-2">
          {entries.slice(0, shown).map(([name, item]) => (
            <Node key={name} value={item} {...(isList ? {} : { label: name })} openTo={openTo - 1} path={isList ? `${path}[${name}]` : `${path}.${name}`} />
          ))}
          {entries.length > shown && (
            <button type="button" className="pl-4 text-accent underline" onClick={() => setShown(shown + PAGE)}>
              {entries.length - shown} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Scalar({ value, isSecret }: { readonly value: JsonValue; readonly isSecret: boolean }): ReactNode {
  const [isRevealed, setRevealed] = useState(false);
  if (isSecret && value !== null && value !== "" && !isRevealed) {
    return (
      <button type="button" className="text-warn underline decoration-dotted" onClick={() => setRevealed(true)} title="Show the value">
        •••••• reveal
      </button>
    );
  }
  if (value === null) return <span className="text-ink-3">null</span>;
  if (typeof value === "string") return <span className="whitespace-pre-wrap text-ok">{JSON.stringify(value)}</span>;
  if (typeof value === "boolean") return <span className="text-info">{String(value)}</span>;
  return <span className="text-warn">{String(value)}</span>;
}
