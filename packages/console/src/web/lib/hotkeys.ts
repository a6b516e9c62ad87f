import { useEffect, useRef } from "react";
import { t } from "../labels/translate.ts";

/** A keyboard shortcut. Examples of `keys`: `mod+k`, `g w` (first g, then w), `?`, `[`. */
export interface Hotkey {
  readonly keys: string;
  /** Description in the list of shortcuts. */
  readonly label: string;
  /** Section in the list of shortcuts: `Everywhere`, `Traces`, … */
  readonly scope: string;
  run(): void;
}

const SEQUENCE_MS = 1_200;
const registry = new Set<Hotkey>();
let pending = "";
let pendingAt = 0;

/** Returns all active shortcuts. */
export function hotkeys(): readonly Hotkey[] {
  return [...registry];
}

const SWITCH = "svc.shortcuts";
/** Returns true unless the user has turned single-key shortcuts off (WCAG 2.1.4 requires that). */
export function shortcutsAreOn(): boolean {
  return localStorage.getItem(SWITCH) !== "off";
}
export function switchShortcuts(on: boolean): void {
  localStorage.setItem(SWITCH, on ? "on" : "off");
}

const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
/** Formats a shortcut with the names of the keys on this machine: `⌘ K`, `Ctrl K`, `g w`. */
export function keysText(keys: string): string {
  const [, key] = /^mod\+(.+)$/.exec(keys) ?? [];
  return key === undefined ? keys : `${MOD} ${key.length === 1 ? key.toUpperCase() : key}`;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/**
 * Returns true if the target is in a dialog. Shortcuts then do not apply, because they act on the page behind the
 * dialog.
 */
function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"]') !== null;
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  return mod + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

function onKeyDown(event: KeyboardEvent): void {
  // An editor, a dialog or a list has already handled the key.
  if (event.defaultPrevented) return;
  const name = nameOf(event);
  const isPlain = !name.startsWith("mod+");
  if (
    event.altKey ||
    event.isComposing ||
    (isPlain && (isTyping(event.target) || isInDialog(event.target) || !shortcutsAreOn()))
  )
    return;
  const now = performance.now();
  const sequence = now - pendingAt < SEQUENCE_MS && pending !== "" ? `${pending} ${name}` : name;
  // The latest registration is used first, so that Escape closes a dialog before it acts on the page. A sequence is
  // preferred to its last key alone.
  const latestFirst = [...registry].reverse();
  const found =
    latestFirst.find((hotkey) => hotkey.keys === sequence) ?? latestFirst.find((hotkey) => hotkey.keys === name);
  if (found !== undefined) {
    pending = "";
    event.preventDefault();
    found.run();
    return;
  }
  pending = [...registry].some((hotkey) => hotkey.keys.startsWith(`${name} `)) ? name : "";
  pendingAt = now;
}

let installed = false;
/** Registers a shortcut while the component is mounted. */
export function useHotkey(keys: string, label: string, run: () => void, scope = t`Everywhere`): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!installed) {
      installed = true;
      document.addEventListener("keydown", onKeyDown);
    }
    const hotkey: Hotkey = { keys, label, scope, run: () => latest.current() };
    registry.add(hotkey);
    return () => {
      registry.delete(hotkey);
    };
  }, [keys, label, scope]);
}
