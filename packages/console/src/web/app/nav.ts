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
  Server,
  Settings,
  SquareFunction,
  TextSearch,
  Zap,
} from "lucide-react";
import { t } from "../labels/translate.ts";

export interface NavItem {
  readonly to: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** Key that opens the page after the key `g`. */
  readonly key: string;
}

/** All pages, in the order of the sidebar. */
export const navItems: readonly NavItem[] = [
  { to: "/", label: t`Dashboard`, icon: LayoutDashboard, key: "d" },
  { to: "/workers", label: t`Workers`, icon: Boxes, key: "w" },
  { to: "/functions", label: t`Functions`, icon: SquareFunction, key: "f" },
  { to: "/triggers", label: t`Triggers`, icon: Zap, key: "t" },
  { to: "/states", label: t`States`, icon: Database, key: "s" },
  { to: "/streams", label: t`Streams`, icon: Radio, key: "m" },
  { to: "/queues", label: t`Queues`, icon: ListOrdered, key: "q" },
  { to: "/traces", label: t`Traces`, icon: Activity, key: "r" },
  { to: "/logs", label: t`Logs`, icon: FileText, key: "l" },
  { to: "/metrics", label: t`Metrics`, icon: ChartLine, key: "e" },
  { to: "/query", label: t`Query`, icon: TextSearch, key: "y" },
  { to: "/flow", label: t`Flow`, icon: GitBranch, key: "o" },
  { to: "/nodes", label: t`Nodes`, icon: Server, key: "n" },
  { to: "/config", label: t`Config`, icon: Settings, key: "c" },
];
