//! Loops of one multiply-add instruction each: what a processor's arithmetic reaches when nothing else is in the way.
//!
//! Every loop keeps some sums in registers and adds the products of the same two operands to each of them, again and
//! again. They are written in assembly, so that exactly the instruction is measured, and all do the same thing: [`MultiplyAdd::expected`]
//! computes it one product at a time. A [`MultiplyAdd`] can only be had where its instructions were detected.

mod scalar;

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

use half::{bf16, f16};

use crate::isa::{Isa, Set};

/// What is multiplied, and what it adds up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Multiplied {
    /// f64.
    F64,
    /// f32.
    F32,
    /// f16, in f16.
    F16,
    /// bf16, in f32.
    Bf16,
    /// Bytes, in 32 bits.
    Int8,
    /// Bytes and numbers of fewer bits, in 16 bits for as long as they fit or in 32.
    Int4,
}

impl Multiplied {
    /// All kinds.
    pub const ALL: [Multiplied; 6] = [
        Multiplied::F64,
        Multiplied::F32,
        Multiplied::F16,
        Multiplied::Bf16,
        Multiplied::Int8,
        Multiplied::Int4,
    ];

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Multiplied::F64 => "f64",
            Multiplied::F32 => "f32",
            Multiplied::F16 => "f16",
            Multiplied::Bf16 => "bf16",
            Multiplied::Int8 => "int8",
            Multiplied::Int4 => "int4",
        }
    }
}

impl fmt::Display for Multiplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The operands of a loop: as many numbers, from the first on, as the instruction takes.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct Operands {
    a: [u8; Operands::BYTES],
    b: [u8; Operands::BYTES],
}

impl Operands {
    /// A tile, the largest operand there is.
    const BYTES: usize = 1024;
}

/// The numbers of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    F64,
    F32,
    F16,
    Bf16,
    I32,
    I16,
    Byte,
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Number::F64 => 8,
            Number::F32 | Number::I32 => 4,
            Number::F16 | Number::Bf16 | Number::I16 => 2,
            Number::Byte => 1,
        }
    }

    /// Appends a small whole number.
    fn write(self, value: i32, bytes: &mut Vec<u8>) {
        match self {
            Number::F64 => bytes.extend(f64::from(value).to_le_bytes()),
            Number::F32 => bytes.extend((value as f32).to_le_bytes()),
            Number::F16 => bytes.extend(f16::from_f32(value as f32).to_le_bytes()),
            Number::Bf16 => bytes.extend(bf16::from_f32(value as f32).to_le_bytes()),
            Number::I32 => bytes.extend(value.to_le_bytes()),
            Number::I16 => bytes.extend((value as i16).to_le_bytes()),
            Number::Byte => bytes.push(value as i8 as u8),
        }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let array = |length: usize| -> [u8; 8] {
            std::array::from_fn(|at| bytes.get(at).copied().filter(|_| at < length).unwrap_or(0))
        };
        let (bits, half) = (u64::from_le_bytes(array(8)), u16::from_le_bytes([bytes[0], array(2)[1]]));
        match self {
            Number::F64 => f64::from_bits(bits),
            Number::F32 => f64::from(f32::from_bits(u64::from_le_bytes(array(4)) as u32)),
            Number::F16 => f16::from_bits(half).to_f64(),
            Number::Bf16 => bf16::from_bits(half).to_f64(),
            Number::I32 => f64::from(u64::from_le_bytes(array(4)) as u32 as i32),
            Number::I16 => f64::from(half as i16),
            Number::Byte => f64::from(bytes[0] as i8),
        }
    }
}

/// Which products go to which sum of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has some of them")]
enum Shape {
    /// So many neighbours to each sum.
    Groups(usize),
    /// Two neighbours of the lower half of 16 bytes and two of the upper.
    Halves,
    /// One of the lower half of 16 bytes and one of the upper.
    Apart,
    /// Every 16 bytes are two rows of operands and a matrix of two by two sums.
    Pairs,
    /// Rows of 64 bytes: sums are rows of the first times columns of the second, so many neighbours together.
    Tile(usize),
}

impl Shape {
    /// The pairs of numbers, by their place in the operands, whose products the sum at this place of a register gains.
    fn products(self, sum: usize, number: Number) -> Vec<(usize, usize)> {
        match self {
            Shape::Groups(group) => (group * sum..group * (sum + 1)).map(|at| (at, at)).collect(),
            Shape::Halves => {
                let (part, sum) = (16 * (sum / 4), 2 * (sum % 4));
                [sum, sum + 1, sum + 8, sum + 9].map(|at| (part + at, part + at)).to_vec()
            }
            Shape::Apart => {
                let at = 16 * (sum / 8) + sum % 8;
                vec![(at, at), (at + 8, at + 8)]
            }
            Shape::Pairs => {
                let row = 8 / number.bytes();
                let (part, row_of_a, row_of_b) = (2 * row * (sum / 4), sum % 4 / 2, sum % 2);
                (0..row).map(|at| (part + row_of_a * row + at, part + row_of_b * row + at)).collect()
            }
            Shape::Tile(group) => {
                let (length, row, column) = (16 * group, sum / 16, sum % 16);
                (0..length)
                    .map(|at| (row * length + at, at / group * length + column * group + at % group))
                    .collect()
            }
        }
    }
}

/// A loop of one multiply-add instruction, or of the fewest that make one.
#[derive(Clone, Copy)]
pub struct MultiplyAdd {
    kind: Multiplied,
    /// Everything it needs.
    sets: &'static [Set],
    instruction: &'static str,
    number: Number,
    sum: Number,
    shape: Shape,
    /// Registers of sums: enough to hide the latency of the instruction.
    chains: usize,
    /// Sums of all registers, in bytes.
    bytes: fn() -> usize,
    /// Adds the products of the operands to every register of sums, so many times.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `sets`, and the sums must be as long as `bytes` says.
    run: unsafe fn(usize, &Operands, &mut [u8]),
}

/// The loops that these instructions allow. Which of a kind is the fastest is for a measurement to say: wider is not always faster.
pub fn multiply_adds(isa: Isa) -> impl Iterator<Item = MultiplyAdd> {
    #[cfg(target_arch = "x86_64")]
    let vectors = x86::LOOPS;
    #[cfg(target_arch = "aarch64")]
    let vectors = arm::LOOPS;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let vectors: [MultiplyAdd; 0] = [];
    let here = move |one: &MultiplyAdd| one.sets.iter().all(|set| isa.has(*set));
    scalar::LOOPS.into_iter().chain(vectors).filter(here)
}

impl MultiplyAdd {
    /// The instruction of those that are left to the compiler.
    pub const PLAIN: &str = "plain Rust";

    /// What it multiplies.
    pub fn kind(&self) -> Multiplied {
        self.kind
    }

    /// The instruction and the registers it works on.
    pub fn instruction(&self) -> &'static str {
        self.instruction
    }

    /// Small whole numbers as operands, from -3 to 3; the first is never negative, since some instructions take it without a sign.
    pub fn operands(&self) -> Operands {
        let filled = |value: fn(usize) -> i32| {
            let mut bytes = Vec::with_capacity(Operands::BYTES);
            for at in 0..Operands::BYTES / self.number.bytes() {
                self.number.write(value(at), &mut bytes);
            }
            std::array::from_fn(|at| bytes[at])
        };
        Operands { a: filled(|at| (at % 7 % 4) as i32), b: filled(|at| (at * 5 % 7) as i32 - 3) }
    }

    /// Runs it: the sums of all registers, and how many operations it took, two for a product.
    pub fn run(&self, rounds: usize, operands: &Operands) -> (Vec<u8>, u64) {
        let mut sums = self.start();
        if rounds > 0 {
            // SAFETY: `multiply_adds` hands out only loops whose instructions were detected, and `start` made the sums.
            unsafe { (self.run)(rounds, operands, &mut sums) };
        }
        let products = sums.len() / self.sum.bytes() * self.shape.products(0, self.number).len();
        (sums, 2 * products as u64 * rounds as u64)
    }

    /// The sums as numbers.
    pub fn values(&self, sums: &[u8]) -> Vec<f64> {
        sums.chunks_exact(self.sum.bytes()).map(|sum| self.sum.read(sum)).collect()
    }

    /// What the sums must be, one product at a time; exact as long as they fit the numbers they add up in.
    pub fn expected(&self, rounds: usize, operands: &Operands) -> Vec<f64> {
        let (start, width) = (self.values(&self.start()), self.number.bytes());
        let number = |bytes: &[u8], at: usize| self.number.read(&bytes[at * width..]);
        let register = start.len() / self.chains;
        let sums = start.iter().enumerate().map(|(at, start)| {
            let products = self.shape.products(at % register, self.number).into_iter();
            let products = products.map(|(a, b)| number(&operands.a, a) * number(&operands.b, b));
            start + rounds as f64 * products.sum::<f64>()
        });
        sums.collect()
    }

    /// Every register starts at another number, or a compiler might see that all are the same.
    fn start(&self) -> Vec<u8> {
        let length = (self.bytes)();
        let register = length / self.chains / self.sum.bytes();
        let mut sums = Vec::with_capacity(length);
        for chain in 0..self.chains {
            (0..register).for_each(|_| self.sum.write(chain as i32, &mut sums));
        }
        sums
    }
}

impl fmt::Debug for MultiplyAdd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.kind, self.instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_instruction_set_runs_no_instructions_of_a_later_one() {
        for isa in Isa::available() {
            for one in multiply_adds(*isa) {
                assert!(one.sets.iter().all(|set| isa.has(*set)), "{isa}: {one:?}");
            }
        }
        assert_eq!(multiply_adds(Isa::SCALAR).count(), scalar::LOOPS.len());
        // Every set beyond scalar brings a loop of its own.
        for isa in &Isa::available()[1..] {
            let own =
                |one: MultiplyAdd| one.sets.iter().any(|set| isa.name() == crate::isa::NAMES[*set as usize]);
            assert!(multiply_adds(*isa).any(own), "{isa}");
        }
    }

    /// Those this processor can't execute too: at least the compiler made of them what their names say.
    #[test]
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn every_loop_repeats_the_instructions_it_is_named_for() {
        #[cfg(target_arch = "x86_64")]
        let (loops, tool) = (x86::LOOPS, "objdump");
        #[cfg(target_arch = "aarch64")]
        let (loops, tool) = (arm::LOOPS, "aarch64-linux-gnu-objdump");
        let program = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let name = program.to_str().unwrap();
        let first = maps.lines().find(|line| line.ends_with(name)).and_then(|line| line.split('-').next());
        let base = usize::from_str_radix(first.expect("the program is mapped"), 16).unwrap();
        for one in loops {
            let start = one.run as usize - base;
            let range = [format!("--start-address={start}"), format!("--stop-address={}", start + 8192)];
            let output = std::process::Command::new(tool).arg("-d").args(range).arg(&program).output();
            let Ok(output) = output else {
                eprintln!("loops disassembled: not run (there is no {tool})");
                return;
            };
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            // Address, bytes and instruction are apart by tabs; an encoding may stand before the name.
            let code = text.lines().filter_map(|line| {
                line.split('\t').nth(2)?.split_whitespace().find(|word| !word.starts_with('{'))
            });
            let code: Vec<&str> = code.take_while(|name| !name.starts_with("ret")).collect();
            let named = one.instruction.split(" + ").map(|part| part.split(' ').next().unwrap_or(part));
            for instruction in named {
                let count = code.iter().filter(|name| **name == instruction).count();
                assert!(
                    count >= one.chains,
                    "{one:?}: {instruction} {count} times, {} instructions",
                    code.len()
                );
            }
            if !multiply_adds(Isa::detect()).any(|here| here.instruction == one.instruction) {
                eprintln!("{one:?}: compiled, not run (this processor has it not)");
            }
        }
    }

    #[test]
    fn a_product_goes_to_the_sum_that_the_manuals_say() {
        assert_eq!(Shape::Groups(4).products(1, Number::Byte), [(4, 4), (5, 5), (6, 6), (7, 7)]);
        assert_eq!(Shape::Halves.products(5, Number::Byte), [(18, 18), (19, 19), (26, 26), (27, 27)]);
        assert_eq!(Shape::Apart.products(9, Number::Byte), [(17, 17), (25, 25)]);
        let pairs = Shape::Pairs.products(2, Number::Bf16);
        assert_eq!(pairs, [(4, 0), (5, 1), (6, 2), (7, 3)]);
        let tile = Shape::Tile(4).products(17, Number::Byte);
        assert_eq!(tile.len(), 64);
        assert_eq!(tile[..5], [(64, 4), (65, 5), (66, 6), (67, 7), (68, 68)]);
    }
}
