import { useNavigate, useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import { CornerDownRight, History, type LucideIcon } from "lucide-react";
import { Dialog } from "radix-ui";
import { useState } from "react";
import { type Hotkey, hotkeys } from "../lib/hotkeys.ts";
import { recentItems } from "../lib/recent.ts";
import { useHello } from "./hello.tsx";
import { navItems } from "./nav.ts";
import { usePaletteSearch } from "./palette-search.ts";

const ITEM =
  "flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-accent-soft data-[selected=true]:text-accent [&_svg]:shrink-0";

/** ⌘K: pages, what can be done on this one, what was looked at lately, and everything that the engine finds by the text. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const router = useRouter();
  const hello = useHello();
  const [text, setText] = useState("");
  const [commands] = useState(() => hotkeys().filter(isCommand));
  const [recent] = useState(recentItems);
  const { groups, isSearching } = usePaletteSearch(text);
  const wanted = text.trim().toLowerCase();
  const fits = (label: string): boolean => label.toLowerCase().includes(wanted);
  const goTo = (href: string): void => {
    onClose();
    router.history.push(href);
  };
  const pages = navItems.filter(({ to, label }) => (to !== "/flow" || hello?.flow_enabled === true) && fits(label));
  const fittingCommands = commands.filter(({ label }) => fits(label));
  const fittingRecent = recent.filter(({ subject, page }) => fits(`${page} ${subject}`)).slice(0, wanted === "" ? 5 : 12);
  const found = groups.filter(({ hits, problem }) => hits.length > 0 || problem !== undefined);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 fixed top-[12vh] left-1/2 z-50 w-[min(40rem,calc(100vw-2rem))] overflow-hidden rounded-lg border border-line bg-surface shadow-pop"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Command label="Command palette" shouldFilter={false} loop>
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="A page, function, worker, trigger, state key, trace or log"
              className="h-11 w-full border-line border-b bg-transparent px-4 text-[14px] outline-none placeholder:text-ink-3"
            />
            <Command.List className="max-h-[60vh] overflow-auto p-2 [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-[11px] [&_[cmdk-group-heading]]:text-ink-3">
              <Command.Empty className="p-4 text-center text-ink-2">{isSearching ? "Searching…" : "Nothing is called that."}</Command.Empty>
              {pages.length > 0 && (
                <Command.Group heading="Pages">
                  {pages.map(({ to, label, icon, key }) => (
                    <Item
                      key={to}
                      value={`page ${to}`}
                      icon={icon}
                      label={label}
                      note={`g ${key}`}
                      onSelect={() => {
                        onClose();
                        void navigate({ to });
                      }}
                    />
                  ))}
                </Command.Group>
              )}
              {fittingRecent.length > 0 && (
                <Command.Group heading="Recent">
                  {fittingRecent.map(({ href, page, subject }) => (
                    <Item key={href} value={`recent ${href}`} icon={History} label={subject} note={page} onSelect={() => goTo(href)} />
                  ))}
                </Command.Group>
              )}
              {fittingCommands.length > 0 && (
                <Command.Group heading="Commands">
                  {fittingCommands.map((command) => (
                    <Item
                      key={command.scope + command.label}
                      value={`command ${command.scope} ${command.label}`}
                      icon={CornerDownRight}
                      label={command.label}
                      note={command.keys.replace("mod+", "⌘/Ctrl ")}
                      onSelect={() => {
                        onClose();
                        command.run();
                      }}
                    />
                  ))}
                </Command.Group>
              )}
              {found.map(({ heading, hits, problem }) => (
                <Command.Group key={heading} heading={heading}>
                  {problem !== undefined && <p className="px-2.5 py-1 text-danger">{`${heading} could not be searched: ${problem}`}</p>}
                  {hits.map(({ href, label, note }) => (
                    <Item key={href} value={`found ${href}`} icon={CornerDownRight} label={label} note={note} onSelect={() => goTo(href)} />
                  ))}
                </Command.Group>
              ))}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Pages have entries of their own, and what only closes or moves is none. */
function isCommand({ keys }: Hotkey): boolean {
  return keys !== "never" && keys !== "Escape" && keys !== "mod+k" && !keys.startsWith("g ");
}

interface ItemProps {
  readonly value: string;
  readonly icon: LucideIcon;
  readonly label: string;
  readonly note?: string | undefined;
  readonly onSelect: () => void;
}

function Item({ value, icon: Icon, label, note, onSelect }: ItemProps) {
  return (
    <Command.Item value={value} onSelect={onSelect} className={ITEM}>
      <Icon aria-hidden className="size-4" />
      <span className="min-w-0 flex-1 truncate">{label}</span>
      {note !== undefined && <span className="max-w-[40%] truncate text-[11px] text-ink-3">{note}</span>}
    </Command.Item>
  );
}
