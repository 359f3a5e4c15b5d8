//! Clock measurement without a cycle counter: dependent additions take one cycle each on every supported CPU, so their rate is the
//! clock frequency.

/// Additions per iteration, enough to make the loop overhead negligible.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(kani, miri))))]
const ADDITIONS: usize = 128;

/// Runs a chain of dependent additions for the given number of iterations and returns the number of additions, or `None` if there is
/// no such loop for this target. Adds registers, because some CPUs execute the addition of a constant during register renaming.
#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
pub fn dependent_additions(iterations: usize) -> Option<u64> {
    let iterations = iterations.max(1);
    // SAFETY: only the named registers are used, and the loop terminates because `iterations` is not 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 128",
            "add {sum}, {one}",
            ".endr",
            "dec {iterations}",
            "jnz 2b",
            sum = inout(reg) 0usize => _,
            one = in(reg) 1usize,
            iterations = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    Some((ADDITIONS * iterations) as u64)
}

/// Runs a chain of dependent additions; see the x86-64 version.
#[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
pub fn dependent_additions(iterations: usize) -> Option<u64> {
    let iterations = iterations.max(1);
    // SAFETY: only the named registers are used, and the loop terminates because `iterations` is not 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 128",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {iterations}, {iterations}, #1",
            "b.ne 2b",
            sum = inout(reg) 0usize => _,
            one = in(reg) 1usize,
            iterations = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
    Some((ADDITIONS * iterations) as u64)
}

/// Returns `None`: there is no such loop for this target.
#[cfg(any(kani, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn dependent_additions(_: usize) -> Option<u64> {
    None
}
