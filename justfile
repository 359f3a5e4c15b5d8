# Common tasks; `just` lists them.

# Run every check that a change must pass.
ci:
    .ci/run

# Prove every obligation of the shipped contracts, and test them with mutants.
prove:
    cargo run --release -q -- contract prove --mutants contracts/*.yaml

# Run every Kani harness; needs `cargo install --locked kani-verifier && cargo kani setup`.
kani:
    .ci/kani all

# Run every Kani harness, and update the ledger of the shipped contracts and docs/PROOFS.md.
kani-ledger:
    .ci/kani ledger

# Benchmark the proofs of the shipped contracts and on large ones.
bench-prove:
    cargo bench -p roofline-contracts --bench prove

# Update docs/EVIDENCE.md and its picture.
evidence:
    cargo xtask evidence
