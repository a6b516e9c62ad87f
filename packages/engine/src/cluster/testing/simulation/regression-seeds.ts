/** Seeds that found a fault, so that each run of the tests repeats them. They lose their meaning when the simulation draws otherwise. */
export const REGRESSION_SEEDS: readonly number[] = [259, 479, 1172, 3928, 4886, 6888];
