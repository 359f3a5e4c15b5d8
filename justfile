# Recipes that CI and people share; `just` lists them.

# Everything a change must pass.
ci:
    .ci/run

# Every obligation of every shipped contract, and what its mutants do.
prove:
    cargo run --release -q -- prove --mutants contracts/*.yaml

# Proves what the kernels, the readers and the contracts state; needs `cargo install --locked kani-verifier && cargo kani setup`.
kani:
    .ci/kani all

# The same, with the result in the ledger of the shipped contracts and in docs/PROOFS.md.
kani-ledger:
    .ci/kani ledger

# How long the structural prover takes, on the shipped contracts and on large ones.
bench-prove:
    cargo bench -p roofline-contracts --bench prove

# The page of the record and its picture.
evidence:
    cargo xtask evidence
