//! Properties that the operating system reports: CPU, caches, memory, allowed CPUs. Any of them may be
//! unknown.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use serde::{Deserialize, Serialize};

use super::topology::Groups;
use roofline_kernels::isa::Isa;

/// Data cache of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Cache level; 1 is nearest to the core.
    pub level: u32,
    /// Size in bytes.
    pub bytes: usize,
    /// Number of CPUs that share it.
    pub shared_by: usize,
}

#[derive(Clone, Debug)]
pub(super) struct System {
    pub cpu: String,
    pub caches: Vec<Cache>,
    /// CPUs that this process may run on.
    pub cpus: Vec<usize>,
    pub groups: Groups,
    /// Number of threads that can run at once; less than the number of CPUs under a quota.
    pub parallelism: usize,
    /// Total memory in bytes.
    pub memory: Option<usize>,
    /// Free memory in bytes.
    pub free_memory: Option<usize>,
    pub huge_pages: bool,
    /// CPU features in the names of Linux.
    pub features: String,
    pub clock_ghz: Option<f64>,
    /// Total bandwidth of the memory modules.
    pub memory_gb_s: Option<f64>,
}

impl System {
    pub fn detect() -> System {
        let cpus = allowed_cpus();
        let first = cpus.first().copied().unwrap_or(0);
        System {
            cpu: cpu_name(),
            caches: caches(&Path::new(CPUS).join(format!("cpu{first}/cache"))),
            parallelism: thread::available_parallelism().map_or(1, usize::from),
            groups: Groups::read(Path::new("/sys/devices/system"), &cpus),
            cpus,
            memory: memory(),
            free_memory: free_memory(),
            huge_pages: fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
                .is_ok_and(|modes| !modes.contains("[never]")),
            features: features(),
            clock_ghz: clock_ghz(
                Path::new(CPUS),
                &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
                first,
            ),
            memory_gb_s: memory_modules(Path::new("/sys/firmware/dmi/entries")),
        }
    }

    /// Returns the size of the last-level cache in bytes, by default 32 MiB.
    pub fn last_cache(&self) -> usize {
        self.caches.iter().map(|cache| cache.bytes).max().unwrap_or(32 << 20)
    }
}

/// Instruction set that the kernels do not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the vendors'")]
pub enum UnusedIsa {
    Ssse3,
    Avx2,
    Avx512,
    AvxVnni,
    Avx512Vnni,
    Avx512Bf16,
    Avx512Fp16,
    Amx,
    AmxFp16,
    Neon,
    Dotprod,
    I8mm,
    Bf16,
    Fp16,
    Sve,
    Sme,
}

impl UnusedIsa {
    /// Vendor name, Linux feature name, and the instruction sets of kernels that use it.
    const ALL: [(UnusedIsa, &str, &str, &[&str]); 16] = [
        (UnusedIsa::Ssse3, "SSSE3", "ssse3", &["avx2"]),
        (UnusedIsa::Avx2, "AVX2", "avx2", &["avx2"]),
        (UnusedIsa::Avx512, "AVX-512", "avx512f", &["avx512"]),
        (UnusedIsa::AvxVnni, "AVX-VNNI", "avx_vnni", &["avx-vnni", "avx512-vnni"]),
        (UnusedIsa::Avx512Vnni, "AVX-512 VNNI", "avx512_vnni", &["avx512-vnni"]),
        (UnusedIsa::Avx512Bf16, "AVX-512 BF16", "avx512_bf16", &["avx512-bf16"]),
        (UnusedIsa::Avx512Fp16, "AVX-512 FP16", "avx512_fp16", &["avx512-fp16"]),
        (UnusedIsa::Amx, "AMX", "amx_tile", &["amx"]),
        (UnusedIsa::AmxFp16, "AMX FP16", "amx_fp16", &[]),
        (UnusedIsa::Neon, "NEON", "asimd", &["neon"]),
        (UnusedIsa::Dotprod, "dot products", "asimddp", &["neon-dotprod"]),
        (UnusedIsa::I8mm, "I8MM", "i8mm", &["neon-i8mm"]),
        (UnusedIsa::Bf16, "BF16", "bf16", &["neon-bf16"]),
        (UnusedIsa::Fp16, "FP16", "asimdhp", &["neon-fp16"]),
        (UnusedIsa::Sve, "SVE", "sve", &["sve"]),
        (UnusedIsa::Sme, "SME", "sme", &[]),
    ];

    /// Returns the instruction sets among `features` that kernels for `isa` do not use.
    pub(super) fn unused(isa: Isa, features: &str) -> Vec<UnusedIsa> {
        let has = |feature: &str| features.split_whitespace().any(|word| word == feature);
        let beyond = UnusedIsa::ALL.into_iter();
        let used = |names: &[&str]| names.iter().any(|name| isa.includes(name));
        let beyond = beyond.filter(|(_, _, feature, names)| has(feature) && !used(names));
        beyond.map(|(beyond, ..)| beyond).collect()
    }

    /// Returns the vendor's name.
    pub fn name(self) -> &'static str {
        UnusedIsa::ALL.into_iter().find(|(beyond, ..)| *beyond == self).map_or("", |(_, name, ..)| name)
    }

    /// Returns true if it multiplies integers.
    pub fn multiplies_integers(self) -> bool {
        use UnusedIsa::{AmxFp16, Avx512Bf16, Avx512Fp16, Bf16, Fp16};
        !matches!(self, Bf16 | Fp16 | Avx512Bf16 | Avx512Fp16 | AmxFp16)
    }

    /// Returns true if it multiplies 16-bit floats.
    pub fn multiplies_halves(self) -> bool {
        !matches!(self, UnusedIsa::AvxVnni | UnusedIsa::Avx512Vnni | UnusedIsa::Dotprod | UnusedIsa::I8mm)
    }

    /// Returns true if it multiplies 32-bit floats.
    pub fn multiplies_singles(self) -> bool {
        self.multiplies_integers() && self.multiplies_halves() && self != UnusedIsa::Amx
    }
}

/// Returns the CPU features in the names of Linux.
fn features() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    if let Some((_, features)) = line.and_then(|line| line.split_once(':')) {
        return features.trim().to_owned();
    }
    let known = [
        ("asimddp", "FEAT_DotProd"),
        ("i8mm", "FEAT_I8MM"),
        ("bf16", "FEAT_BF16"),
        ("asimdhp", "FEAT_FP16"),
        ("sme", "FEAT_SME"),
    ];
    let has = |name: &str| sysctl(&format!("hw.optional.arm.{name}")).as_deref() == Some("1");
    let mut found: Vec<&str> =
        known.into_iter().filter(|(_, name)| has(name)).map(|(word, _)| word).collect();
    if sysctl("hw.optional.avx512f").as_deref() == Some("1") {
        found.push("avx512f");
    }
    found.join(" ")
}

/// Measures the CPU load over 200 ms, 0 to 1; `None` if unknown.
pub(super) fn load() -> Option<f64> {
    let read = || fs::read_to_string("/proc/stat").ok();
    let before = read()?;
    thread::sleep(Duration::from_millis(200));
    busy(&before, &read()?)
}

/// Returns the share of time that was not idle between two readings of `/proc/stat`.
fn busy(before: &str, after: &str) -> Option<f64> {
    let times = |text: &str| -> Option<(f64, f64)> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // Guest time, after the eighth number, is included in the others.
        let numbers: Vec<f64> =
            line.split_whitespace().take(8).map_while(|number| number.parse().ok()).collect();
        let idle = numbers.get(3)? + numbers.get(4)?;
        Some((idle, numbers.iter().sum()))
    };
    let ((idle, all), (idle_after, all_after)) = (times(before)?, times(after)?);
    let share = 1.0 - (idle_after - idle) / (all_after - all);
    share.is_finite().then_some(share.clamp(0.0, 1.0))
}

fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        line.split(':').nth(1).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let model = || {
        fs::read_to_string("/proc/device-tree/model")
            .ok()
            .map(|name| name.trim_matches(['\0', '\n']).to_owned())
    };
    let arm = || Some(format!("Arm implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
    let name = field("model name").or_else(model).or_else(arm);
    name.or_else(|| sysctl("machdep.cpu.brand_string"))
        .unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH))
}

/// Queries `sysctl` on macOS.
fn sysctl(key: &str) -> Option<String> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    let output = std::process::Command::new("sysctl").args(["-n", key]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|value| !value.is_empty())
}

fn caches(directory: &Path) -> Vec<Cache> {
    let entries =
        fs::read_dir(directory).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let mut caches: Vec<Cache> = entries.iter().filter_map(|entry| cache(&entry.path())).collect();
    if caches.is_empty() {
        let size = |key| sysctl(key).and_then(|value| value.parse().ok()).filter(|&bytes: &usize| bytes > 0);
        let known = [(1, "hw.l1dcachesize"), (2, "hw.l2cachesize"), (3, "hw.l3cachesize")];
        caches = known
            .into_iter()
            .filter_map(|(level, key)| Some(Cache { level, bytes: size(key)?, shared_by: 1 }))
            .collect();
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(directory: &Path) -> Option<Cache> {
    let read = |name: &str| Some(fs::read_to_string(directory.join(name)).ok()?.trim().to_owned());
    if read("type")? == "Instruction" {
        return None;
    }
    let bytes = parse_size(&read("size")?)?;
    let shared_by = read("shared_cpu_list").map_or(1, |list| cpu_list(&list).len().max(1));
    // Sizes above 1 TiB are invalid.
    Some(Cache { level: read("level")?.parse().ok()?, bytes, shared_by })
        .filter(|cache| cache.bytes <= 1 << 40)
}

/// Parses a size in bytes with an optional binary unit: `512K`, `32M`, `1.5GiB`, `4096`.
pub fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * f64::from(1u32 << shift);
    (bytes.is_finite() && bytes >= 1.0 && bytes < 2f64.powi(53)).then_some(bytes as usize)
}

/// Parses a CPU list of the kernel, such as `0-3,8`.
pub(super) fn cpu_list(text: &str) -> Vec<usize> {
    text.trim()
        .split(',')
        .filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            Some((from.trim().parse::<usize>().ok()?, to.trim().parse::<usize>().ok()?))
        })
        .flat_map(|(from, to)| from..=to.min(from.saturating_add(4096)))
        .take(1 << 16)
        .collect()
}

/// Reads a field of `/proc/meminfo`, in bytes.
fn memory_info(name: &str) -> Option<usize> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? << 10)
}

/// Reads a number of the memory cgroup; `None` without a limit.
fn container(name: &str) -> Option<usize> {
    fs::read_to_string(Path::new("/sys/fs/cgroup").join(name)).ok()?.trim().parse().ok()
}

/// Returns the total memory in bytes, or the limit of the container.
fn memory() -> Option<usize> {
    let physical = || sysctl("hw.memsize")?.parse().ok();
    [memory_info("MemTotal"), container("memory.max")].into_iter().flatten().min().or_else(physical)
}

/// Returns the free memory in bytes, within the limit of the container; `None` if unknown.
pub fn free_memory() -> Option<usize> {
    let left =
        container("memory.max").map(|limit| limit.saturating_sub(container("memory.current").unwrap_or(0)));
    let physical = || sysctl("hw.memsize")?.parse::<usize>().ok().map(|bytes| bytes / 2);
    [memory_info("MemAvailable"), left].into_iter().flatten().min().or_else(physical)
}

/// Directory of the CPUs on Linux.
pub(super) const CPUS: &str = "/sys/devices/system/cpu";

/// Reads a clock in kHz and returns it in GHz, if plausible.
fn clock(cpus: &Path, cpu: usize, name: &str) -> Option<f64> {
    let text = fs::read_to_string(cpus.join(format!("cpu{cpu}/cpufreq/{name}"))).ok()?;
    plausible(text.trim().parse::<f64>().ok()? / 1e6)
}

fn plausible(ghz: f64) -> Option<f64> {
    (0.001..=100.0).contains(&ghz).then_some(ghz)
}

fn clock_ghz(cpus: &Path, info: &str, cpu: usize) -> Option<f64> {
    let current = || {
        let line = info.lines().find(|line| line.starts_with("cpu MHz"))?;
        plausible(line.split(':').nth(1)?.trim().parse::<f64>().ok()? / 1e3)
    };
    clock(cpus, cpu, "cpuinfo_max_freq").or_else(current)
}

/// Returns the highest current clock of some CPUs in GHz; many virtual machines report none.
pub(super) fn reported_clock_ghz(directory: &Path, cpus: &[usize]) -> Option<f64> {
    cpus.iter().filter_map(|cpu| clock(directory, *cpu, "scaling_cur_freq")).reduce(f64::max)
}

/// Returns the total bandwidth of the memory modules in SMBIOS (type 17), in GB/s. Readable by the
/// administrator only. An upper bound, since modules that share a channel are counted separately.
fn memory_modules(entries: &Path) -> Option<f64> {
    let modules = fs::read_dir(entries).ok()?.flatten();
    let modules = modules.filter(|entry| entry.file_name().to_string_lossy().starts_with("17-"));
    let total: f64 = modules.filter_map(|entry| module_gb_s(&fs::read(entry.path().join("raw")).ok()?)).sum();
    (total > 0.0).then_some(total)
}

fn module_gb_s(raw: &[u8]) -> Option<f64> {
    let word = |at: usize| Some(u16::from_le_bytes([*raw.get(at)?, *raw.get(at + 1)?]));
    let (width, size) = (word(0x0a)?, word(0x0c)?);
    let speed = word(0x20).filter(|speed| *speed != 0).or_else(|| word(0x15))?;
    let known = |value: u16| value != 0 && value != u16::MAX;
    (known(width) && known(speed) && size != 0).then(|| f64::from(width) / 8.0 * f64::from(speed) / 1e3)
}

#[cfg(target_os = "linux")]
fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a `cpu_set_t` is an array of integers, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is writable and its size is the one given; 0 names this thread.
    let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0;
    // SAFETY: every index is below the number of bits in the set.
    let allowed = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    if failed { Vec::new() } else { (0..libc::CPU_SETSIZE as usize).filter(allowed).collect() }
}

#[cfg(not(target_os = "linux"))]
fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

/// Pins this thread to some CPUs. Has no effect on systems without CPU affinity.
#[cfg(target_os = "linux")]
pub(super) fn pin(cpus: &[usize]) {
    // SAFETY: as in `allowed_cpus`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
        // SAFETY: the index is below the number of bits in the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: `set` is readable and its size is the one given; 0 names this thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_: &[usize]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(parse_size("512K"), Some(512 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("1.5 GiB"), Some(3 << 29));
        assert_eq!(parse_size("4096"), Some(4096));
        for wrong in ["", "M", "-1", "1T", "0", "nan", "1e99", "12 parsecs", "99999999999999999G"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn cpu_lists_of_the_kernel_are_parsed() {
        assert_eq!(cpu_list("0-2,8"), [0, 1, 2, 8]);
        assert_eq!(cpu_list("5\n"), [5]);
        assert!(cpu_list("").is_empty() && cpu_list("x-y").is_empty());
        assert!(cpu_list("0-99999999999").len() <= 4097);
        assert!(cpu_list(&"0-4096,".repeat(1000)).len() <= 1 << 16);
        assert!(cpu_list("99999999999999999999,-,3-1,,18446744073709551615-18446744073709551615").len() <= 1);
    }

    /// Creates files in a temporary directory.
    fn files(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("roofline-system-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn clocks_are_read_and_implausible_ones_are_rejected() {
        let root = files(
            "clock",
            &[
                ("cpu0/cpufreq/cpuinfo_max_freq", "3700000\n"),
                ("cpu0/cpufreq/scaling_cur_freq", "1200000\n"),
                ("cpu1/cpufreq/scaling_cur_freq", "3500000\n"),
                ("cpu2/cpufreq/scaling_cur_freq", "<unknown>\n"),
            ],
        );
        let info = "processor\t: 0\ncpu MHz\t\t: 2450.000\n";
        assert_eq!(clock_ghz(&root, info, 0), Some(3.7));
        assert_eq!(clock_ghz(&root, info, 1), Some(2.45), "falls back to /proc/cpuinfo");
        assert_eq!(reported_clock_ghz(&root, &[0, 1, 2, 3]), Some(3.5));
        assert_eq!(reported_clock_ghz(&root, &[2, 3]), None);
        for wrong in ["", "garbage", "-1", "0", "nan", "inf", "1e300", "99999999999999999999999"] {
            fs::write(root.join("cpu0/cpufreq/cpuinfo_max_freq"), wrong).unwrap();
            fs::write(root.join("cpu0/cpufreq/scaling_cur_freq"), wrong).unwrap();
            assert_eq!(clock_ghz(&root, &format!("cpu MHz : {wrong}"), 0), None, "{wrong}");
            assert_eq!(reported_clock_ghz(&root, &[0]), None, "{wrong}");
        }
        assert_eq!(clock_ghz(&root, "cpu MHz", 7), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn caches_are_read_and_invalid_ones_are_ignored() {
        let good = [("type", "Data\n"), ("level", "1\n"), ("size", "48K\n"), ("shared_cpu_list", "0,64\n")];
        let with = |name: &str, key: &str, value: &str| {
            let file = |(file, text): (&str, &str)| {
                (format!("index0/{file}"), if file == key { value.to_owned() } else { text.to_owned() })
            };
            let all: Vec<(String, String)> = good.into_iter().map(file).collect();
            let all: Vec<(&str, &str)> =
                all.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            let root = files(name, &all);
            let found = caches(&root);
            fs::remove_dir_all(root).unwrap();
            found
        };
        assert_eq!(with("cache", "", ""), [Cache { level: 1, bytes: 48 << 10, shared_by: 2 }]);
        for (key, wrong) in [
            ("type", "Instruction\n"),
            ("size", ""),
            ("size", "0K"),
            ("size", "-48K"),
            ("size", "garbage"),
            ("size", "9000000G"),
            ("size", "99999999999999999999G"),
            ("level", ""),
            ("level", "-1"),
            ("level", "99999999999"),
        ] {
            assert_eq!(with("cache-wrong", key, wrong), [], "{key}: {wrong:?}");
        }
        assert_eq!(with("cache-list", "shared_cpu_list", "garbage")[0].shared_by, 1);
        assert_eq!(caches(Path::new("/nowhere/at/all")), []);
    }

    #[test]
    fn memory_modules_are_read_from_smbios_entries() {
        let mut raw = vec![0u8; 0x28];
        raw[0x0a..0x0c].copy_from_slice(&64u16.to_le_bytes());
        raw[0x0c..0x0e].copy_from_slice(&0x7fffu16.to_le_bytes());
        raw[0x20..0x22].copy_from_slice(&3200u16.to_le_bytes());
        assert_eq!(module_gb_s(&raw), Some(25.6));
        raw[0x0c..0x0e].fill(0);
        assert_eq!(module_gb_s(&raw), None, "an empty slot has no bandwidth");
        assert_eq!(module_gb_s(&raw[..8]), None);
    }

    #[test]
    fn the_load_is_the_share_of_time_that_was_not_idle() {
        let stat = |user: u64, idle: u64, wait: u64, guest: u64| {
            format!("cpu  {user} 0 0 {idle} {wait} 0 0 0 {guest} 0\ncpu0 1 2 3 4\nintr 5\n")
        };
        assert_eq!(busy(&stat(100, 900, 0, 50), &stat(110, 930, 0, 60)), Some(0.25));
        assert_eq!(busy(&stat(100, 900, 0, 0), &stat(100, 930, 10, 0)), Some(0.0), "I/O wait counts as idle");
        assert_eq!(busy(&stat(1, 1, 1, 1), &stat(1, 1, 1, 1)), None, "no time has elapsed");
        assert_eq!(busy("", "cpu 1 2"), None);
    }

    #[test]
    fn unused_instruction_sets_are_detected() {
        let scalar = Isa::SCALAR;
        assert_eq!(UnusedIsa::unused(scalar, "fpu sse2 ssse3 avx2"), [UnusedIsa::Ssse3, UnusedIsa::Avx2]);
        assert_eq!(UnusedIsa::unused(scalar, "fp asimd asimddp"), [UnusedIsa::Neon, UnusedIsa::Dotprod]);
        // No kernels use these instruction sets.
        for isa in Isa::available() {
            assert_eq!(
                UnusedIsa::unused(*isa, "amx_fp16 sme"),
                [UnusedIsa::AmxFp16, UnusedIsa::Sme],
                "{isa}"
            );
        }
        let new = UnusedIsa::unused(scalar, "avx512f avx512_vnni amx_tile asimdhp i8mm");
        let names: Vec<&str> = new.iter().map(|beyond| beyond.name()).collect();
        assert_eq!(names, ["AVX-512", "AVX-512 VNNI", "AMX", "I8MM", "FP16"]);
        let kinds =
            |multiplies: fn(UnusedIsa) -> bool| new.iter().map(|isa| multiplies(*isa)).collect::<Vec<_>>();
        assert_eq!(kinds(UnusedIsa::multiplies_integers), [true, true, true, true, false]);
        assert_eq!(kinds(UnusedIsa::multiplies_halves), [true, false, true, false, true]);
        assert_eq!(kinds(UnusedIsa::multiplies_singles), [true, false, false, false, false]);
        // Instruction sets that the kernels use are not listed.
        for (isa, rest) in [
            ("avx2", vec![UnusedIsa::Avx512, UnusedIsa::Dotprod]),
            ("neon", vec![UnusedIsa::Avx2, UnusedIsa::Avx512, UnusedIsa::Dotprod]),
        ] {
            if let Ok(isa) = Isa::from_name(isa) {
                assert_eq!(UnusedIsa::unused(isa, "avx2 avx512f asimddp"), rest);
            }
        }
    }

    #[test]
    fn the_running_system_is_detected() {
        let system = System::detect();
        assert!(!system.cpu.is_empty() && system.parallelism > 0 && system.last_cache() > 0);
    }
}
