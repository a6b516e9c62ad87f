import { maskSecrets } from "@svc-runtime/protocol/secrets";
import { ChevronDown, ChevronRight } from "lucide-react";
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { t } from "../labels/translate.ts";
import { downloadText } from "../lib/download-blob.ts";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "../lib/json.ts";
import { maskedMember, maskedText } from "../lib/secrets.ts";
import { bytes } from "../lib/time.ts";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { CopyButton } from "./copy-button.tsx";

/** Texts with more characters than this are shown only on request. */
const LARGE = 256 * 1024;
const PAGE = 100;

/** True if secrets are shown. */
const Revealed = createContext(false);

/**
 * Shows JSON as an expandable tree with exact numbers. Secrets are masked until the user reveals them. This also
 * applies to copies and downloads.
 */
export function JsonView({
  text,
  name = "value",
  openTo = 2,
  isPlain = false,
  className,
}: {
  readonly text: string;
  readonly name?: string;
  readonly openTo?: number;
  /** True if the JSON contains no secrets, whatever its member names are. That is so for a schema. */
  readonly isPlain?: boolean;
  readonly className?: string;
}) {
  const [isForced, setForced] = useState(false);
  const [isRaw, setRaw] = useState(false);
  const isLarge = text.length > LARGE && !isForced;
  const [isAsked, setAsked] = useState(false);
  const isRevealed = isPlain || isAsked;
  const parsed = useMemo(() => (isLarge ? undefined : read(text)), [text, isLarge]);
  // A text that is too large to be parsed is treated as if it had secrets.
  const hasSecrets = !isPlain && (parsed === undefined || parsed.masked !== parsed.shown);
  const given = (): string => (isRevealed ? text : maskedText(text));
  return (
    <div className={cn("flex min-h-0 flex-col", className)}>
      <div className="flex items-center gap-1 pb-1 text-[11px] text-ink-3">
        <span>{bytes(new Blob([text]).size)}</span>
        <span className="flex-1" />
        {parsed?.ok === true && (
          <Button look="ghost" className="h-6 px-1.5 text-[11px]" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            {isRaw ? t`Tree` : t`Raw`}
          </Button>
        )}
        {hasSecrets && (
          <Button
            look="ghost"
            className="h-6 px-1.5 text-[11px]"
            aria-pressed={isRevealed}
            onClick={() => setAsked(!isAsked)}
          >
            {t`Reveal secrets`}
          </Button>
        )}
        <CopyButton text={given} label={t`Copy ${name}`} className="h-6 w-6" />
        <Button
          look="ghost"
          className="h-6 px-1.5 text-[11px]"
          title={hasSecrets && !isRevealed ? t`With secrets masked` : undefined}
          onClick={() => downloadText(given(), `${name}.json`)}
        >
          {t`Download`}
        </Button>
      </div>
      {parsed === undefined ? (
        <p className="rounded-md bg-raised p-3 text-ink-2">
          {t`${bytes(text.length)} of JSON.`}{" "}
          <button type="button" className="text-accent underline" onClick={() => setForced(true)}>
            {t`Show it anyway`}
          </button>
        </p>
      ) : parsed.ok && !isRaw ? (
        <div className="overflow-auto rounded-md bg-raised p-2 font-mono text-[12px]">
          <Revealed value={isRevealed}>
            <Node value={parsed.value} openTo={openTo} path="$" />
          </Revealed>
        </div>
      ) : (
        <pre className="whitespace-pre-wrap break-words rounded-md bg-raised p-2">
          {isRevealed ? parsed.shown : parsed.masked}
        </pre>
      )}
    </div>
  );
}

/** Content that is not drawn as a tree: the unchanged text, and the text with secrets masked. */
interface AsText {
  readonly shown: string;
  readonly masked: string;
}

function read(text: string): AsText & ({ readonly ok: true; readonly value: JsonValue } | { readonly ok: false }) {
  try {
    const value = parseJson(text);
    return { ok: true, value, shown: formatJson(value), masked: formatJson(maskSecrets(value)) };
  } catch {
    return { ok: false, shown: text, masked: maskedText(text) };
  }
}

function Node({
  value,
  label,
  openTo,
  path,
}: {
  readonly value: JsonValue;
  readonly label?: string;
  readonly openTo: number;
  readonly path: string;
}) {
  const [isOpen, setOpen] = useState(openTo > 0);
  const [shown, setShown] = useState(PAGE);
  const isRevealed = useContext(Revealed);
  const [isAsked, setAsked] = useState(false);
  const head = label === undefined ? null : <span className="text-violet">{JSON.stringify(label)}: </span>;
  const masked = isRevealed || isAsked ? value : maskedMember(label, value);
  if (typeof masked === "string" && masked !== value) {
    return (
      <div className="break-words pl-4">
        {head}
        <button
          type="button"
          className="inline-flex min-h-6 items-center text-warn underline decoration-dotted"
          onClick={() => setAsked(true)}
          title={t`Show the value`}
        >
          {t`${masked} reveal`}
        </button>
      </div>
    );
  }
  if (typeof value !== "object" || value === null || isBigNumber(value)) {
    return (
      <div className="break-words pl-4">
        {head}
        <Scalar value={value} />
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
        className="inline-flex min-h-6 min-w-6 items-center whitespace-pre rounded text-left hover:bg-hover"
      >
        {isOpen ? (
          <ChevronDown aria-hidden className="size-4 text-ink-3" />
        ) : (
          <ChevronRight aria-hidden className="size-4 text-ink-3" />
        )}
        {head}
        <span className="text-ink-3">{summary}</span>
      </button>
      {isOpen && (
        <div className="ml-2 border-line border-l pl-2">
          {entries.slice(0, shown).map(([name, item]) => (
            <Node
              key={name}
              value={item}
              {...(isList ? {} : { label: name })}
              openTo={openTo - 1}
              path={isList ? `${path}[${name}]` : `${path}.${name}`}
            />
          ))}
          {entries.length > shown && (
            <button type="button" className="pl-4 text-accent underline" onClick={() => setShown(shown + PAGE)}>
              {t`${entries.length - shown} more`}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Scalar({ value }: { readonly value: JsonValue }): ReactNode {
  if (value === null) return <span className="text-ink-3">null</span>;
  if (typeof value === "string") return <span className="whitespace-pre-wrap text-ok">{JSON.stringify(value)}</span>;
  if (typeof value === "boolean") return <span className="text-info">{String(value)}</span>;
  return <span className="text-warn">{String(value)}</span>;
}
