import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { clusterInitCommand, clusterRecoverCommand } from "./cluster-init-recover.ts";
import { clusterNatsConfigCommand } from "./cluster-nats-config.ts";
import { clusterNkeyCommand } from "./cluster-nkey.ts";

/** `svc cluster`: prepares the NATS servers of a cluster, and its initial data. */
export function clusterCommand(shell: Shell): Command {
  return new Command("cluster")
    .summary("prepare the NATS servers and the data of a cluster of engines")
    .description(
      "Prepare the NATS servers that make several engines one system, and the initial data of the cluster. The guide is docs/guide/cluster.md; the engine's side is the block engine.cluster of its config file.",
    )
    .addCommand(clusterNatsConfigCommand(shell))
    .addCommand(clusterNkeyCommand(shell))
    .addCommand(clusterInitCommand(shell))
    .addCommand(clusterRecoverCommand(shell))
    .addHelpText(
      "after",
      "\nExamples:\n  svc cluster nkey\n  svc cluster nats-config --cluster shop --servers 127.0.0.1 > nats.conf\n",
    );
}
