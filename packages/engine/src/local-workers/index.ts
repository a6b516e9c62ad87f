export { nearestName } from "@svc-runtime/protocol/nearest-name";
export {
  InstallError,
  type InstallFailure,
  type InstallOptions,
  type InstallResult,
  installWorker,
  isInstalled,
  workerStateFolder,
} from "./install.ts";
export { LineSplitter } from "./line-splitter.ts";
export {
  MANIFEST_FILE,
  ManifestError,
  REFERENCE_MANIFEST_FILE,
  readManifest,
  type WorkerManifest,
} from "./manifest.ts";
export { describeEnd, type ProcessGroup, startProcessGroup } from "./process-group.ts";
export { type ManifestProposal, proposeManifest } from "./propose-manifest.ts";
export { RestartPolicy } from "./restart-policy.ts";
export { kindRules, type PackageManager, packageManagerTools, type RuntimeKind, type Tool } from "./runtime-kinds.ts";
export { workerNameProblem } from "./worker-name.ts";
