import { openDatabase, tableHashOf } from "@svc-runtime/engine/testing";
import { type ClusterScene, NODES, type NodeName, STORES, type StoreName } from "./cluster-scene.ts";

/** Number of times that the engines are stopped to find their replicas at equal positions. */
const ATTEMPTS = 4;

interface Replica {
  readonly position: number;
  readonly hash: string;
}

/** Ends the engines when nothing is written any more, and compares their replicas, row by row. Returns the problems. */
export async function replicaProblems(scene: ClusterScene): Promise<string[]> {
  const open = new Set(STORES);
  const problems: string[] = [];
  for (let attempt = 0; attempt < ATTEMPTS && open.size > 0; attempt++) {
    if (attempt > 0) await Promise.all(NODES.map((name) => scene.startAgain(name)));
    await scene.settled();
    for (const name of NODES) scene.signal(name, "SIGKILL");
    await Promise.all(NODES.map((name) => scene.node(name).engine.exited));
    for (const store of [...open]) {
      const replicas = NODES.map((name) => replicaOf(scene, name, store));
      if (new Set(replicas.map(({ position }) => position)).size > 1) continue;
      open.delete(store);
      if (new Set(replicas.map(({ hash }) => hash)).size > 1)
        problems.push(`the replicas of ${store} differ at ${replicas[0]?.position}`);
    }
  }
  for (const store of open) problems.push(`the replicas of ${store} were never found at equal positions`);
  return problems;
}

function replicaOf(scene: ClusterScene, name: NodeName, store: StoreName): Replica {
  const database = openDatabase(scene.replicaOf(name, store));
  try {
    const [row] = database.prepare<{ position: number }>("SELECT position FROM replica_state").all();
    return { position: row?.position ?? 0, hash: tableHashOf(database) };
  } finally {
    database.close();
  }
}
