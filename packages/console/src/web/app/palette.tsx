import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Dialog } from "radix-ui";
import { useHello } from "./hello.tsx";
import { navItems } from "./nav.ts";

/** ⌘K: every page, and what is found by its name. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const hello = useHello();
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Content
          aria-describedby={undefined}
          className="-translate-x-1/2 fixed top-[12vh] left-1/2 z-50 w-[min(40rem,calc(100vw-2rem))] overflow-hidden rounded-lg border border-line bg-surface shadow-pop"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Command label="Command palette">
            <Command.Input placeholder="Go to a page" className="h-11 w-full border-line border-b bg-transparent px-4 text-[14px] outline-none" />
            <Command.List className="max-h-[60vh] overflow-auto p-2">
              <Command.Empty className="p-4 text-center text-ink-2">Nothing is called that.</Command.Empty>
              <Command.Group heading="Pages">
                {navItems
                  .filter(({ to }) => to !== "/flow" || hello?.flow_enabled === true)
                  .map(({ to, label, icon: Icon }) => (
                    <Command.Item
                      key={to}
                      onSelect={() => {
                        onClose();
                        void navigate({ to });
                      }}
                      className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-accent-soft data-[selected=true]:text-accent"
                    >
                      <Icon aria-hidden className="size-4" />
                      {label}
                    </Command.Item>
                  ))}
              </Command.Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
