//! Cycles counted without a counter: additions that wait for each other take one cycle each on every processor these kernels
//! know, so that their rate is the clock.

/// Additions in one turn of the loop: many, so that counting the turns does not count.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(kani, miri))))]
const ADDITIONS: usize = 128;

/// Runs so many turns of additions that wait for each other, and says how many additions that was; none where there is no such loop.
/// Registers are added, not constants, which some processors add while they rename registers.
#[cfg(all(target_arch = "x86_64", not(any(kani, miri))))]
pub fn additions_in_line(turns: usize) -> Option<u64> {
    let turns = turns.max(1);
    // SAFETY: only registers are used, which are all named, and the loop ends, since `turns` is not 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 128",
            "add {sum}, {one}",
            ".endr",
            "dec {turns}",
            "jnz 2b",
            sum = inout(reg) 0usize => _,
            one = in(reg) 1usize,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    Some((ADDITIONS * turns) as u64)
}

/// The same on ARM.
#[cfg(all(target_arch = "aarch64", not(any(kani, miri))))]
pub fn additions_in_line(turns: usize) -> Option<u64> {
    let turns = turns.max(1);
    // SAFETY: only registers are used, which are all named, and the loop ends, since `turns` is not 0.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 128",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            sum = inout(reg) 0usize => _,
            one = in(reg) 1usize,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    Some((ADDITIONS * turns) as u64)
}

/// No such loop here.
#[cfg(any(kani, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn additions_in_line(_: usize) -> Option<u64> {
    None
}
