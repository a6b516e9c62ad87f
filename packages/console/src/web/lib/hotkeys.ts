import { useEffect, useRef } from "react";
import { t } from "../labels/translate.ts";

/** One shortcut. `keys`: `mod+k`, `g w` (one after the other), `?`, `[`. */
export interface Hotkey {
  readonly keys: string;
  /** Description in the help. */
  readonly label: string;
  /** Scope in the help: `Everywhere`, `Traces`, … */
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
/** Returns true unless single-key shortcuts are turned off (WCAG 2.1.4). */
export function shortcutsAreOn(): boolean {
  return localStorage.getItem(SWITCH) !== "off";
}
export function switchShortcuts(on: boolean): void {
  localStorage.setItem(SWITCH, on ? "on" : "off");
}

const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
/** Formats a shortcut with the key names of this machine: `⌘ K`, `Ctrl K`, `g w`. */
export function keysText(keys: string): string {
  const [, key] = /^mod\+(.+)$/.exec(keys) ?? [];
  return key === undefined ? keys : `${MOD} ${key.length === 1 ? key.toUpperCase() : key}`;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Shortcuts act on the page, which is behind the dialog. */
function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"]') !== null;
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  return mod + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

function onKeyDown(event: KeyboardEvent): void {
  // An editor, a dialog or a grid has already handled the key.
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
  // The latest registration wins: a dialog's Escape before its page's. A sequence wins over its last key.
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
