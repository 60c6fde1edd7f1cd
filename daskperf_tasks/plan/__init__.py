"""From a matrix file to cells and an interleaved, seeded order of measuring."""
