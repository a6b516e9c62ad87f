import {
  Activity,
  Boxes,
  ChartLine,
  Database,
  FileText,
  GitBranch,
  LayoutDashboard,
  ListOrdered,
  type LucideIcon,
  Radio,
  Settings,
  SquareFunction,
  TextSearch,
  Zap,
} from "lucide-react";

export interface NavItem {
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Second key of the shortcut, after `g`. */
  readonly key: string;
}

/** All pages, in the order of the sidebar. */
export const navItems: readonly NavItem[] = [
  { to: "/", label: "Dashboard", icon: LayoutDashboard, key: "d" },
  { to: "/workers", label: "Workers", icon: Boxes, key: "w" },
  { to: "/functions", label: "Functions", icon: SquareFunction, key: "f" },
  { to: "/triggers", label: "Triggers", icon: Zap, key: "t" },
  { to: "/states", label: "States", icon: Database, key: "s" },
  { to: "/streams", label: "Streams", icon: Radio, key: "m" },
  { to: "/queues", label: "Queues", icon: ListOrdered, key: "q" },
  { to: "/traces", label: "Traces", icon: Activity, key: "r" },
  { to: "/logs", label: "Logs", icon: FileText, key: "l" },
  { to: "/metrics", label: "Metrics", icon: ChartLine, key: "e" },
  { to: "/query", label: "Query", icon: TextSearch, key: "y" },
  { to: "/flow", label: "Flow", icon: GitBranch, key: "o" },
  { to: "/config", label: "Config", icon: Settings, key: "c" },
];
