//! Loops over a single multiply-add instruction, which define the compute roofs.
//!
//! Every loop keeps several sums in registers and repeatedly adds the products of the same two operands to each of them. The loops are
//! written in assembly, so that exactly the named instruction is measured. [`MultiplyAdd::expected`] computes the same result one product
//! at a time. A [`MultiplyAdd`] is available only if its instructions were detected.

mod scalar;

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

use half::{bf16, f16};

use crate::isa::{Extension, Isa};

/// Element type of a multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum FmaType {
    /// f64 operands and sums.
    F64,
    /// f32 operands and sums.
    F32,
    /// f16 operands and sums.
    F16,
    /// bf16 operands, f32 sums.
    Bf16,
    /// 8-bit integer operands, 32-bit sums.
    Int8,
    /// Operands of 8 and of fewer bits, with 16-bit sums as long as they fit.
    Int4,
}

impl FmaType {
    /// All types.
    pub const ALL: [FmaType; 6] =
        [FmaType::F64, FmaType::F32, FmaType::F16, FmaType::Bf16, FmaType::Int8, FmaType::Int4];

    /// Name as in JSON, such as `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            FmaType::F64 => "f64",
            FmaType::F32 => "f32",
            FmaType::F16 => "f16",
            FmaType::Bf16 => "bf16",
            FmaType::Int8 => "int8",
            FmaType::Int4 => "int4",
        }
    }
}

impl fmt::Display for FmaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The operands of a loop. An instruction reads as many leading elements as it needs.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct Operands {
    a: [u8; Operands::BYTES],
    b: [u8; Operands::BYTES],
}

impl Operands {
    /// Size of an AMX tile, the largest operand.
    const BYTES: usize = 1024;
}

/// Element type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F64,
    F32,
    F16,
    Bf16,
    I32,
    I16,
    I8,
}

impl Element {
    fn bytes(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 | Element::I32 => 4,
            Element::F16 | Element::Bf16 | Element::I16 => 2,
            Element::I8 => 1,
        }
    }

    /// Appends a small integer.
    fn write(self, value: i32, bytes: &mut Vec<u8>) {
        match self {
            Element::F64 => bytes.extend(f64::from(value).to_le_bytes()),
            Element::F32 => bytes.extend((value as f32).to_le_bytes()),
            Element::F16 => bytes.extend(f16::from_f32(value as f32).to_le_bytes()),
            Element::Bf16 => bytes.extend(bf16::from_f32(value as f32).to_le_bytes()),
            Element::I32 => bytes.extend(value.to_le_bytes()),
            Element::I16 => bytes.extend((value as i16).to_le_bytes()),
            Element::I8 => bytes.push(value as i8 as u8),
        }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let array = |length: usize| -> [u8; 8] {
            std::array::from_fn(|at| bytes.get(at).copied().filter(|_| at < length).unwrap_or(0))
        };
        let (bits, half) = (u64::from_le_bytes(array(8)), u16::from_le_bytes([bytes[0], array(2)[1]]));
        match self {
            Element::F64 => f64::from_bits(bits),
            Element::F32 => f64::from(f32::from_bits(u64::from_le_bytes(array(4)) as u32)),
            Element::F16 => f16::from_bits(half).to_f64(),
            Element::Bf16 => bf16::from_bits(half).to_f64(),
            Element::I32 => f64::from(u64::from_le_bytes(array(4)) as u32 as i32),
            Element::I16 => f64::from(half as i16),
            Element::I8 => f64::from(bytes[0] as i8),
        }
    }
}

/// Assignment of products to the sums of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture uses some of them")]
enum Layout {
    /// Adjacent products per sum.
    Adjacent(usize),
    /// Two adjacent products of the lower and two of the upper half of 16 bytes.
    PairsOfHalves,
    /// One product of the lower and one of the upper half of 16 bytes.
    Halves,
    /// Every 16 bytes hold two rows of operands and a 2x2 matrix of sums.
    Matrix2x2,
    /// AMX tiles with rows of 64 bytes, multiplied as matrices; the given number of adjacent elements forms one entry.
    Tile(usize),
}

impl Layout {
    /// Indices into both operands of the products that are added to the sum with index `sum`.
    fn products(self, sum: usize, operand: Element) -> Vec<(usize, usize)> {
        match self {
            Layout::Adjacent(group) => (group * sum..group * (sum + 1)).map(|at| (at, at)).collect(),
            Layout::PairsOfHalves => {
                let (part, sum) = (16 * (sum / 4), 2 * (sum % 4));
                [sum, sum + 1, sum + 8, sum + 9].map(|at| (part + at, part + at)).to_vec()
            }
            Layout::Halves => {
                let at = 16 * (sum / 8) + sum % 8;
                vec![(at, at), (at + 8, at + 8)]
            }
            Layout::Matrix2x2 => {
                let row = 8 / operand.bytes();
                let (part, row_of_a, row_of_b) = (2 * row * (sum / 4), sum % 4 / 2, sum % 2);
                (0..row).map(|at| (part + row_of_a * row + at, part + row_of_b * row + at)).collect()
            }
            Layout::Tile(group) => {
                let (length, row, column) = (16 * group, sum / 16, sum % 16);
                (0..length)
                    .map(|at| (row * length + at, at / group * length + column * group + at % group))
                    .collect()
            }
        }
    }
}

/// A loop over one multiply-add instruction, or the shortest equivalent sequence.
#[derive(Clone, Copy)]
pub struct MultiplyAdd {
    fma_type: FmaType,
    /// Required extensions.
    extensions: &'static [Extension],
    instruction: &'static str,
    operand: Element,
    sum: Element,
    layout: Layout,
    /// Independent registers of sums, enough to hide the latency of the instruction.
    chains: usize,
    /// Size of the sums of all registers in bytes.
    bytes: fn() -> usize,
    /// Runs the loop for the given number of iterations.
    ///
    /// # Safety
    ///
    /// The CPU must support `extensions`, the number of iterations must not be 0, and the length of the sums must be `bytes`.
    run: unsafe fn(usize, &Operands, &mut [u8]),
}

/// Returns the loops available with an instruction set. Which loop of a type is fastest must be measured; wider is not always faster.
pub fn multiply_adds(isa: Isa) -> impl Iterator<Item = MultiplyAdd> {
    #[cfg(target_arch = "x86_64")]
    let vectors = x86::LOOPS;
    #[cfg(target_arch = "aarch64")]
    let vectors = arm::LOOPS;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let vectors: [MultiplyAdd; 0] = [];
    let supported = move |one: &MultiplyAdd| one.extensions.iter().all(|extension| isa.has(*extension));
    scalar::LOOPS.into_iter().chain(vectors).filter(supported)
}

impl MultiplyAdd {
    /// Instruction name of the loops that the compiler vectorizes.
    pub const SCALAR: &str = "plain Rust";

    /// Element type of the products.
    pub fn fma_type(&self) -> FmaType {
        self.fma_type
    }

    /// Instructions and register width, such as `vfmadd231ps zmm`.
    pub fn instruction(&self) -> &'static str {
        self.instruction
    }

    /// Creates operands of small integers from -3 to 3. The first operand is never negative, because some instructions treat it as unsigned.
    pub fn operands(&self) -> Operands {
        let filled = |value: fn(usize) -> i32| {
            let mut bytes = Vec::with_capacity(Operands::BYTES);
            for at in 0..Operands::BYTES / self.operand.bytes() {
                self.operand.write(value(at), &mut bytes);
            }
            std::array::from_fn(|at| bytes[at])
        };
        Operands { a: filled(|at| (at % 7 % 4) as i32), b: filled(|at| (at * 5 % 7) as i32 - 3) }
    }

    /// Runs the loop. Returns the sums of all registers and the number of operations, two per product.
    pub fn run(&self, iterations: usize, operands: &Operands) -> (Vec<u8>, u64) {
        let mut sums = self.initial_sums();
        if iterations > 0 {
            // SAFETY: `multiply_adds` returns only loops whose instructions were detected, `iterations` is not 0, and `initial_sums`
            // has the required length.
            unsafe { (self.run)(iterations, operands, &mut sums) };
        }
        let products = sums.len() / self.sum.bytes() * self.layout.products(0, self.operand).len();
        (sums, 2 * products as u64 * iterations as u64)
    }

    /// Decodes sums returned by [`MultiplyAdd::run`].
    pub fn values(&self, sums: &[u8]) -> Vec<f64> {
        sums.chunks_exact(self.sum.bytes()).map(|sum| self.sum.read(sum)).collect()
    }

    /// Computes the expected sums one product at a time; exact unless a sum overflows its type.
    pub fn expected(&self, iterations: usize, operands: &Operands) -> Vec<f64> {
        let (start, width) = (self.values(&self.initial_sums()), self.operand.bytes());
        let element = |bytes: &[u8], at: usize| self.operand.read(&bytes[at * width..]);
        let register = start.len() / self.chains;
        let sums = start.iter().enumerate().map(|(at, start)| {
            let products = self.layout.products(at % register, self.operand).into_iter();
            let products = products.map(|(a, b)| element(&operands.a, a) * element(&operands.b, b));
            start + iterations as f64 * products.sum::<f64>()
        });
        sums.collect()
    }

    /// Initial sums, different for every register, so that a compiler cannot merge them.
    fn initial_sums(&self) -> Vec<u8> {
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
        write!(f, "{} by {}", self.fma_type, self.instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isa_has_only_loops_of_its_extensions() {
        for isa in Isa::available() {
            for one in multiply_adds(*isa) {
                assert!(one.extensions.iter().all(|extension| isa.has(*extension)), "{isa}: {one:?}");
            }
        }
        assert_eq!(multiply_adds(Isa::SCALAR).count(), scalar::LOOPS.len());
        // Every extension beyond scalar has a loop of its own.
        for isa in &Isa::available()[1..] {
            let own = |one: MultiplyAdd| {
                one.extensions.iter().any(|&extension| isa.name() == crate::isa::NAMES[extension as usize])
            };
            assert!(multiply_adds(*isa).any(own), "{isa}");
        }
    }

    /// Disassembles all loops, including those this CPU cannot run.
    #[test]
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn every_loop_contains_its_instructions_once_per_chain() {
        #[cfg(target_arch = "x86_64")]
        let (loops, tool) = (x86::LOOPS, "objdump");
        #[cfg(target_arch = "aarch64")]
        let (loops, tool) = (arm::LOOPS, "aarch64-linux-gnu-objdump");
        let program = std::env::current_exe().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let name = program.to_str().unwrap();
        let first = maps.lines().find(|line| line.ends_with(name)).and_then(|line| line.split('-').next());
        let base = usize::from_str_radix(first.expect("/proc/self/maps lists the executable"), 16).unwrap();
        for one in loops {
            let start = one.run as usize - base;
            let range = [format!("--start-address={start}"), format!("--stop-address={}", start + 8192)];
            let output = std::process::Command::new(tool).arg("-d").args(range).arg(&program).output();
            let Ok(output) = output else {
                eprintln!("disassembly: not run ({tool} not found)");
                return;
            };
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            // Address, bytes and instruction are separated by tabs; an encoding prefix may precede the mnemonic.
            let code = text.lines().filter_map(|line| {
                line.split('\t').nth(2)?.split_whitespace().find(|word| !word.starts_with('{'))
            });
            let code: Vec<&str> = code.take_while(|name| !name.starts_with("ret")).collect();
            let named = one.instruction.split(" + ").map(|part| part.split(' ').next().unwrap_or(part));
            for instruction in named {
                let count = code.iter().filter(|name| **name == instruction).count();
                assert!(
                    count >= one.chains,
                    "{one:?}: {instruction} occurs {count} times in {} instructions",
                    code.len()
                );
            }
            if !multiply_adds(Isa::detect()).any(|here| here.instruction == one.instruction) {
                eprintln!("{one:?}: compiled, not run (not supported by this CPU)");
            }
        }
    }

    #[test]
    fn products_are_added_to_the_sums_given_in_the_manuals() {
        assert_eq!(Layout::Adjacent(4).products(1, Element::I8), [(4, 4), (5, 5), (6, 6), (7, 7)]);
        assert_eq!(Layout::PairsOfHalves.products(5, Element::I8), [(18, 18), (19, 19), (26, 26), (27, 27)]);
        assert_eq!(Layout::Halves.products(9, Element::I8), [(17, 17), (25, 25)]);
        let pairs = Layout::Matrix2x2.products(2, Element::Bf16);
        assert_eq!(pairs, [(4, 0), (5, 1), (6, 2), (7, 3)]);
        let tile = Layout::Tile(4).products(17, Element::I8);
        assert_eq!(tile.len(), 64);
        assert_eq!(tile[..5], [(64, 4), (65, 5), (66, 6), (67, 7), (68, 68)]);
    }
}
