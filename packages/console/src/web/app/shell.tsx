import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { Clock, Keyboard, Link2, LogOut, Menu, Monitor, Moon, PanelLeft, Search, Settings2, Sun } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { rich } from "../labels/rich.ts";
import { t } from "../labels/translate.ts";
import { keysText, useHotkey } from "../lib/hotkeys.ts";
import { useListKeys } from "../lib/list-keys.ts";
import { hasSession, logOut } from "../lib/page-token.ts";
import { setZone, swapTimes, useSwappedTimes, useZone } from "../lib/time.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { loadDialog } from "../ui/dialog.tsx";
import { useIsNarrow } from "../ui/list-detail.tsx";
import { loadPopover } from "../ui/popover.tsx";
import { Toasts } from "../ui/toasts.tsx";
import { ConnectionBar, ConnectionPill } from "./connection-pill.tsx";
import { useCopyLink } from "./copy-link.ts";
import { navItems } from "./nav.ts";
import { setPreference, type Theme, usePreferences } from "./preferences.ts";
import { droppedParams } from "./search.ts";
import { useHello } from "./use-hello.tsx";

const loadPalette = () => import("./palette.tsx");
const Palette = lazy(loadPalette);
/** Delay before the palette and the notifications are loaded, in milliseconds. The page itself is loaded by then. */
const LATER_MS = 1_000;
const DisplaySettings = lazy(() => import("./display-settings.tsx"));
const loadNotifications = () => import("./notifications.tsx");
const Notifications = lazy(loadNotifications);
const ShortcutHelp = lazy(() => import("./shortcut-help.tsx"));

/** Layout around every page. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isDisplayOpen, setDisplayOpen] = useState(false);
  const [hasNotifications, setHasNotifications] = useState(false);
  /** Path of the page on which the menu was opened. The menu closes when another page is opened. */
  const [drawerPath, setDrawerPath] = useState<string>();
  const isDrawer = useIsNarrow(640);
  const { sidebarOpen, density } = usePreferences();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isDrawerOpen = drawerPath === path;
  const setDrawerOpen = (isOpen: boolean): void => setDrawerPath(isOpen ? path : undefined);
  // The palette is loaded before it is opened, so that text that is typed right after the shortcut is not lost.
  useEffect(() => {
    // If this load fails because the console does not respond, the code is loaded when the palette opens.
    const timer = setTimeout(() => {
      // The bell is shown only when its code is loaded, because a failed load must not replace the page by an error.
      loadNotifications().then(
        () => setHasNotifications(true),
        () => undefined,
      );
      void Promise.all([loadPalette(), loadDialog(), loadPopover()]).catch(() => undefined);
    }, LATER_MS);
    return () => clearTimeout(timer);
  }, []);
  useHotkey("mod+k", t`Command palette`, () => setPaletteOpen(true));
  useHotkey("?", t`Keyboard shortcuts`, () => setHelpOpen(true));
  const copyLink = useCopyLink();
  useHotkey("c", t`Copy the link to this view`, copyLink);
  const zone = useZone();
  useHotkey("mod+,", t`Display: time zone, theme, density, shortcuts`, () => setDisplayOpen(true));
  useHotkey("z", t`Local time or UTC`, () => setZone(zone === "UTC" ? "local" : "UTC"));
  useListKeys();
  useHotkey("x", t`Swap relative and absolute times`, swapTimes);
  useHotkey(isDrawer && isDrawerOpen ? "Escape" : "never", t`Close the menu`, () => setDrawerOpen(false));
  return (
    <div className="flex h-full flex-col">
      <a
        href="#content"
        className="-top-10 absolute left-2 z-50 rounded-md bg-accent px-3 py-1.5 text-accent-ink focus:top-2"
      >
        {t`Skip to the content`}
      </a>
      <TopBar
        onMenu={isDrawer ? () => setDrawerOpen(!isDrawerOpen) : undefined}
        isMenuOpen={isDrawerOpen}
        notifications={
          hasNotifications && (
            <Suspense>
              <Notifications />
            </Suspense>
          )
        }
        onPalette={() => setPaletteOpen(true)}
        onHelp={() => setHelpOpen(true)}
        onDisplay={() => setDisplayOpen(true)}
        onCopyLink={copyLink}
      />
      <ConnectionBar />
      <DroppedParams />
      <div className="relative flex min-h-0 flex-1">
        {(!isDrawer || isDrawerOpen) && (
          <Sidebar isOpen={isDrawer || sidebarOpen} isDrawer={isDrawer} onClose={() => setDrawerOpen(false)} />
        )}
        {/* A change of the density renders the page again, because lists depend on the height of their rows. */}
        <main key={density} id="content" tabIndex={-1} className="flex min-h-0 min-w-0 flex-1 flex-col outline-none">
          <Outlet />
        </main>
      </div>
      <Toasts />
      <Suspense>
        {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
        {isDisplayOpen && <DisplaySettings onClose={() => setDisplayOpen(false)} />}
        {isHelpOpen && <ShortcutHelp onClose={() => setHelpOpen(false)} />}
      </Suspense>
    </div>
  );
}

interface TopBarProps {
  readonly onMenu: (() => void) | undefined;
  readonly isMenuOpen: boolean;
  readonly notifications: ReactNode;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
  readonly onDisplay: () => void;
  readonly onCopyLink: () => void;
}

function TopBar({ onMenu, isMenuOpen, notifications, onPalette, onHelp, onDisplay, onCopyLink }: TopBarProps) {
  const { theme } = usePreferences();
  const zone = useZone();
  const areSwapped = useSwappedTimes();
  const next: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
  const zoneName = zone === "local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;
  const Icon = { system: Monitor, light: Sun, dark: Moon }[theme];
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-line border-b bg-surface px-3">
      {onMenu !== undefined && (
        <Button
          look="ghost"
          aria-label={t`Menu`}
          aria-expanded={isMenuOpen}
          onClick={onMenu}
          icon={<Menu aria-hidden className="size-4" />}
        />
      )}
      <Link to="/" className="flex items-center gap-2 font-semibold text-[15px]" aria-label={t`svc, to the Dashboard`}>
        <img src="/favicon.svg" alt="" className="size-5" />
        svc
      </Link>
      <span className="flex-1" />
      <Button onClick={onPalette} icon={<Search aria-hidden className="size-3.5" />} className="text-ink-2">
        <span className="hidden sm:inline">{t`Search or jump to`}</span>{" "}
        <span className="sr-only">{t`Command palette`}</span>
        <kbd className="hidden rounded bg-raised px-1 text-[11px] text-ink-3 sm:inline">{keysText("mod+k")}</kbd>
      </Button>
      <Button
        look="ghost"
        onClick={onDisplay}
        title={t`Time zone of every time on the page; z switches between local time and UTC`}
        aria-label={zone === "local" ? t`Time zone: ${zoneName} (local)` : t`Time zone: ${zoneName}`}
        className="hidden font-mono text-[11px] sm:inline-flex"
      >
        {zoneName}
      </Button>
      <Button
        look="ghost"
        aria-label={t`Swap relative and absolute times`}
        title={t`Swap relative and absolute times (x)`}
        aria-pressed={areSwapped}
        className="hidden sm:inline-flex"
        onClick={swapTimes}
        icon={<Clock aria-hidden className="size-4" />}
      />
      <Button
        look="ghost"
        aria-label={t`Copy the link to this view`}
        title={t`Copy the link to this view (c)`}
        className="hidden sm:inline-flex"
        onClick={onCopyLink}
        icon={<Link2 aria-hidden className="size-4" />}
      />
      {notifications}
      <Button
        look="ghost"
        aria-label={t`Display`}
        title={t`Time zone, theme, density, shortcuts (${keysText("mod+,")})`}
        onClick={onDisplay}
        icon={<Settings2 aria-hidden className="size-4" />}
      />
      <Button
        look="ghost"
        aria-label={t`Theme: ${theme}`}
        title={t`Theme: ${theme}`}
        onClick={() => setPreference({ theme: next[theme] })}
        icon={<Icon aria-hidden className="size-4" />}
      />
      <Button
        look="ghost"
        aria-label={t`Keyboard shortcuts`}
        title={t`Keyboard shortcuts (?)`}
        className="hidden sm:inline-flex"
        onClick={onHelp}
        icon={<Keyboard aria-hidden className="size-4" />}
      />
      {hasSession && (
        <Button
          look="ghost"
          aria-label={t`Log out`}
          title={t`Log out of this console`}
          onClick={() => void logOut()}
          icon={<LogOut aria-hidden className="size-4" />}
        />
      )}
      <ConnectionPill />
    </header>
  );
}

function Sidebar({
  isOpen,
  isDrawer,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly isDrawer: boolean;
  readonly onClose: () => void;
}) {
  const hello = useHello();
  const items = navItems.filter(({ to }) => to !== "/flow" || hello?.flow_enabled === true);
  return (
    <>
      {isDrawer && (
        <button
          type="button"
          aria-label={t`Close the menu`}
          className="absolute inset-0 z-20 bg-black/40"
          onClick={onClose}
        />
      )}
      <nav
        aria-label={t`Pages`}
        className={cn(
          "z-30 flex shrink-0 flex-col gap-0.5 overflow-y-auto border-line border-r bg-surface p-2",
          isOpen ? "w-[200px]" : "w-14",
          isDrawer && "absolute inset-y-0 left-0 shadow-pop",
        )}
      >
        {items.map((item) => (
          <NavLink key={item.to} item={item} isOpen={isOpen} />
        ))}
        <span className="flex-1" />
        {!isDrawer && (
          <Button
            look="ghost"
            aria-label={isOpen ? t`Collapse the sidebar` : t`Expand the sidebar`}
            aria-expanded={isOpen}
            className="w-full justify-start px-2"
            onClick={() => setPreference({ sidebarOpen: !isOpen })}
            icon={<PanelLeft aria-hidden className="size-4" />}
          >
            {isOpen ? t`Collapse` : undefined}
          </Button>
        )}
      </nav>
    </>
  );
}

function NavLink({
  item: { to, label, icon: Icon, key },
  isOpen,
}: {
  readonly item: (typeof navItems)[number];
  readonly isOpen: boolean;
}) {
  const navigate = useNavigate();
  useHotkey(`g ${key}`, t`Go to ${label}`, () => void navigate({ to }));
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === "/", includeSearch: false }}
      title={isOpen ? undefined : label}
      aria-label={isOpen ? undefined : label}
      className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-ink-2 hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent"
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      {isOpen && label}
    </Link>
  );
}

function DroppedParams() {
  const dropped = useSyncExternalStore(droppedParams.listen, droppedParams.get);
  if (dropped.length === 0) return null;
  return (
    <div role="status" className="flex items-center gap-3 border-line border-b bg-info-soft px-4 py-1 text-info">
      <span className="flex-1">
        {dropped.length === 1
          ? rich`Ignored an unknown parameter in the address: ${<code>{dropped.join(", ")}</code>}`
          : rich`Ignored unknown parameters in the address: ${<code>{dropped.join(", ")}</code>}`}
      </span>
      <Button look="ghost" className="h-6 text-info" onClick={droppedParams.clear}>
        {t`Close`}
      </Button>
    </div>
  );
}
