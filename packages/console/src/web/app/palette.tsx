import { useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import { CornerDownRight, History, type LucideIcon } from "lucide-react";
import { Dialog } from "radix-ui";
import { useEffect, useRef, useState } from "react";
import { t } from "../labels/translate.ts";
import { type Hotkey, hotkeys, keysText } from "../lib/hotkeys.ts";
import { recentItems } from "../lib/recent-items.ts";
import { DialogContent } from "../ui/dialog-content.tsx";
import { navItems } from "./nav.ts";
import { usePaletteSearch } from "./palette-search.ts";
import { useHello } from "./use-hello.tsx";

interface Choice {
  /** Unique id. */
  readonly value: string;
  readonly icon: LucideIcon;
  readonly label: string;
  readonly note?: string | undefined;
  run(): void;
}

interface Section {
  readonly heading: string;
  readonly choices: readonly Choice[];
  readonly problem?: string | undefined;
}

/** Command palette (⌘K or Ctrl-K): pages, commands of this page, recent items and search results of the engine. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [pointed, setPointed] = useState("");
  const chosen = useRef<Choice>(undefined);
  const { sections, isSearching } = useSections(text);
  const choices = sections.flatMap((section) => section.choices);
  const values = choices.map(({ value }) => value);
  /** Text for which the user pressed Enter before there were results. */
  const [entered, setEntered] = useState<string>();
  // The item that the user pointed at may disappear with the next letter. Then the first item is active, also when
  // results arrive later.
  const active = values.includes(pointed) ? pointed : (values[0] ?? "");
  const choose = (choice: Choice): void => {
    chosen.current = choice;
    onClose();
  };
  const [first] = choices;
  useEffect(() => {
    if (entered !== text) return;
    if (first === undefined && isSearching) return;
    setEntered(undefined);
    if (first !== undefined) choose(first);
  });
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <DialogContent
          aria-describedby={undefined}
          // The choice runs after the dialog has closed. It may move the focus, and an open dialog does not let the
          // focus leave.
          onClosed={() => chosen.current?.run()}
          className="-translate-x-1/2 fixed top-[12vh] left-1/2 z-50 w-[min(40rem,calc(100vw-2rem))] overflow-hidden rounded-lg border border-line bg-surface shadow-pop"
        >
          <Dialog.Title className="sr-only">{t`Command palette`}</Dialog.Title>
          <Command
            label={t`Command palette`}
            shouldFilter={false}
            loop
            value={active}
            onValueChange={setPointed}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
              // The choice is looked up here, because the list itself ignores Enter until it has selected an item
              // shortly after rendering.
              const choice = choices.find(({ value }) => value === active);
              if (choice === undefined && !isSearching) return;
              event.preventDefault();
              if (choice === undefined) setEntered(text);
              else choose(choice);
            }}
          >
            <Command.Input
              value={text}
              onValueChange={(next) => {
                setText(next);
                setEntered(undefined);
              }}
              placeholder={t`A page, function, worker, trigger, state key, trace or log`}
              className="h-11 w-full border-line border-b bg-transparent px-4 text-[14px] outline-none placeholder:text-ink-3"
            />
            <Command.List className="max-h-[60vh] overflow-auto p-2 [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-[11px] [&_[cmdk-group-heading]]:text-ink-3">
              {values.length === 0 && (
                <p className="p-4 text-center text-ink-2">{isSearching ? t`Searching…` : t`No results.`}</p>
              )}
              {sections.map(({ heading, choices: own, problem }) => (
                <Command.Group key={heading} heading={heading}>
                  {problem !== undefined && (
                    <p className="px-2.5 py-1 text-danger">{t`${heading} could not be searched: ${problem}`}</p>
                  )}
                  {own.map((choice) => (
                    <Item key={choice.value} choice={choice} onSelect={() => choose(choice)} />
                  ))}
                </Command.Group>
              ))}
            </Command.List>
          </Command>
        </DialogContent>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Returns all entries that match the text, in the order in which they are shown. */
function useSections(text: string): { readonly sections: readonly Section[]; readonly isSearching: boolean } {
  const router = useRouter();
  const hello = useHello();
  const [commands] = useState(() => hotkeys().filter(isCommand));
  const [recent] = useState(recentItems);
  const { groups, isSearching } = usePaletteSearch(text);
  const wanted = text.trim().toLowerCase();
  const fits = (label: string): boolean => label.toLowerCase().includes(wanted);
  const goTo = (href: string) => () => router.history.push(href);
  const sections: readonly Section[] = [
    {
      heading: t`Pages`,
      choices: navItems
        .filter(({ to, label }) => (to !== "/flow" || hello?.flow_enabled === true) && fits(label))
        .map(({ to, label, icon, key }) => ({ value: `page ${to}`, icon, label, note: `g ${key}`, run: goTo(to) })),
    },
    {
      heading: t`Recent`,
      choices: recent
        .filter(({ subject, page }) => fits(`${page} ${subject}`))
        .slice(0, wanted === "" ? 5 : undefined)
        .map(({ href, page, subject }) => ({
          value: `recent ${href}`,
          icon: History,
          label: subject,
          note: page,
          run: goTo(href),
        })),
    },
    {
      heading: t`Commands`,
      choices: commands
        .filter(({ label }) => fits(label))
        .map(({ scope, label, keys, run }) => ({
          ...{ value: `command ${scope} ${label}`, icon: CornerDownRight, label, note: keysText(keys) },
          run: () => run(),
        })),
    },
    ...groups.map(({ heading, hits, problem }) => ({
      ...{ heading, problem },
      choices: hits.map(({ href, label, note }) => ({
        value: `found ${href}`,
        icon: iconOf(heading),
        label,
        note,
        run: goTo(href),
      })),
    })),
  ];
  return {
    sections: sections.filter(({ choices, problem }) => choices.length > 0 || problem !== undefined),
    isSearching,
  };
}

/**
 * Returns true for commands of the palette. Shortcuts that open pages are excluded, because pages have entries of their
 * own. Shortcuts that only close or move something are excluded too.
 */
function isCommand({ keys }: Hotkey): boolean {
  return keys !== "never" && keys !== "Escape" && keys !== "mod+k" && !keys.startsWith("g ");
}

/** Returns the icon of the page with this heading. */
function iconOf(heading: string): LucideIcon {
  return navItems.find(({ label }) => label === heading || label === `${heading}s`)?.icon ?? CornerDownRight;
}

function Item({
  choice: { value, icon: Icon, label, note },
  onSelect,
}: {
  readonly choice: Choice;
  readonly onSelect: () => void;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-accent-soft data-[selected=true]:text-accent [&_svg]:shrink-0"
    >
      <Icon aria-hidden className="size-4" />
      <span className="min-w-0 flex-1 truncate">{label}</span>
      {note !== undefined && <span className="max-w-[40%] truncate text-[11px] text-ink-3">{note}</span>}
    </Command.Item>
  );
}
