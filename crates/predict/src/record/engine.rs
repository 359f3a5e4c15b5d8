//! The programs whose speeds the record has, each with what it runs on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::expectation::{Sample, samples};
use super::table::Row;
use roofline_formulas::hardware::devices::{Device, Kind, Vendor};

/// A program and what it runs on, as far as speeds differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Engine {
    /// The program: `llama.cpp`, `vllm`.
    pub name: String,
    /// What it runs on: `cuda`, `metal`, `rocm`, `vulkan`, `cpu`.
    pub backend: &'static str,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.name, self.backend)
    }
}

/// Words of published backends, and what they run on.
const BACKENDS: [(&str, &str); 8] = [
    ("metal", "metal"),
    ("mtl", "metal"),
    ("vulkan", "vulkan"),
    ("rocm", "rocm"),
    ("hip", "rocm"),
    ("rocwmma", "rocm"),
    ("cuda", "cuda"),
    // Last, because a GPU's backend may be listed beside that of the CPU.
    ("cpu", "cpu"),
];

impl Engine {
    /// The program that splits layers over devices and reads prompts in parts.
    pub(super) const LLAMA_CPP: &'static str = "llama.cpp";

    /// The engine of a row.
    pub(super) fn of(row: &Row, device: Option<&Device>) -> Engine {
        let backend = row.backend.to_lowercase();
        let backend = BACKENDS.iter().find(|(word, _)| backend.contains(word)).map(|(_, backend)| *backend);
        Engine { name: program(&row.engine), backend: backend.unwrap_or_else(|| usual(device)) }
    }

    /// The engine of this name: a program and what it runs on, such as `llama.cpp-cuda`.
    pub fn named(text: &str) -> Option<Engine> {
        let (name, backend) = text.rsplit_once('-')?;
        let (_, backend) = BACKENDS.iter().find(|(_, known)| *known == backend)?;
        (!name.is_empty()).then(|| Engine { name: name.to_owned(), backend })
    }

    /// Every engine of the record, with its rows of decoding and of prompts.
    pub fn all() -> BTreeMap<&'static Engine, [usize; 2]> {
        let mut all: BTreeMap<&Engine, [usize; 2]> = BTreeMap::new();
        for sample in samples() {
            all.entry(&sample.question.engine).or_default()[usize::from(sample.question.prefill)] += 1;
        }
        all
    }

    /// What most such devices were measured with: any on their CPU, or else those of the same kind and vendor, or of the same
    /// kind; of as many, the one with more rows.
    fn most_used(device: Option<&Device>) -> Option<Engine> {
        let most = |alike: &dyn Fn(&Sample) -> bool| {
            let mut used: BTreeMap<&Engine, (BTreeSet<&str>, usize)> = BTreeMap::new();
            for sample in samples().iter().filter(|sample| alike(sample)) {
                let (devices, rows) = used.entry(&sample.question.engine).or_default();
                devices.insert(sample.device.name);
                *rows += 1;
            }
            let most = used.into_iter().max_by_key(|(_, (devices, rows))| (devices.len(), *rows));
            most.map(|(engine, _)| engine.clone())
        };
        match device.filter(|device| usual(Some(device)) != "cpu") {
            None => most(&|sample| sample.question.engine.backend == "cpu"),
            Some(Device { kind, vendor, .. }) => {
                most(&|sample| (sample.device.kind, sample.device.vendor) == (*kind, *vendor))
                    .or_else(|| most(&|sample| sample.device.kind == *kind))
            }
        }
    }
}

/// Which engine a speed is expected of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineChoice {
    name: Option<String>,
    backend: Option<&'static str>,
}

impl EngineChoice {
    /// Reads `llama.cpp-cuda`, or `llama.cpp` for what is usual on the device. The error lists what there is.
    pub fn parse(text: &str) -> Result<EngineChoice, String> {
        let wanted = text.trim().to_lowercase();
        let all = Engine::all();
        if let Some(engine) = all.keys().find(|engine| engine.to_string() == wanted) {
            return Ok(EngineChoice { name: Some(engine.name.clone()), backend: Some(engine.backend) });
        }
        if all.keys().any(|engine| engine.name == wanted) {
            return Ok(EngineChoice { name: Some(wanted), backend: None });
        }
        let known: Vec<String> = all.keys().map(ToString::to_string).collect();
        Err(format!("the record has no such engine; there are {}", known.join(", ")))
    }

    /// The engine on a device, a measured machine where there is none; none where the record has no rows of such devices and
    /// no program was named.
    pub fn on(&self, device: Option<&Device>) -> Option<Engine> {
        match &self.name {
            Some(name) => {
                Some(Engine { name: name.clone(), backend: self.backend.unwrap_or_else(|| usual(device)) })
            }
            None => Engine::most_used(device),
        }
    }

    /// Whether nobody named one.
    pub fn is_default(&self) -> bool {
        self.name.is_none()
    }
}

/// The program of a published name: what wraps llama.cpp runs llama.cpp, and versions are left out.
fn program(name: &str) -> String {
    let name = name.to_lowercase();
    match name.split_whitespace().next() {
        Some("ollama") | None => Engine::LLAMA_CPP.into(),
        Some(first) => first.to_owned(),
    }
}

/// The backend that is usual on a device.
fn usual(device: Option<&Device>) -> &'static str {
    match device.map(|device| (device.kind, device.vendor)) {
        None | Some((Kind::Cpu | Kind::Board | Kind::Phone, _)) => "cpu",
        Some((_, Vendor::Nvidia)) => "cuda",
        Some((_, Vendor::Apple)) => "metal",
        Some((_, Vendor::Amd)) => "rocm",
        Some(_) => "vulkan",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_formulas::hardware::devices::{
        APPLE_M2_ULTRA, H100_SXM, RASPBERRY_PI_5, RX_7900_XTX, STRIX_HALO_RYZEN_AI_MAX_395,
    };

    #[test]
    fn engines_are_told_by_program_and_backend() {
        let head = "device,engine,backend,model,quant,phase,test,context,batch,tokens_per_s\n";
        let engine = |text: &str| {
            let row = super::super::read(&format!("{head}{text}\n")).unwrap().remove(0);
            Engine::of(&row, Some(row.beside().unwrap().device)).to_string()
        };
        assert_eq!(engine("RTX 4090,Ollama,,Llama-2-7B,Q4_0,tg,x,1,1,1"), "llama.cpp-cuda");
        assert_eq!(engine("RX 7900 XTX,MLC LLM,HIP,Llama-2-7B,Q4_0,tg,x,1,1,1"), "mlc-rocm");
    }

    #[test]
    fn without_a_choice_the_engine_is_that_of_most_such_devices() {
        let on = |device| EngineChoice::default().on(device).map(|engine| engine.to_string());
        for (device, engine) in [
            (Some(&H100_SXM), "llama.cpp-cuda"),
            (Some(&APPLE_M2_ULTRA), "llama.cpp-metal"),
            (Some(&RX_7900_XTX), "llama.cpp-rocm"),
            (Some(&STRIX_HALO_RYZEN_AI_MAX_395), "llama.cpp-rocm"),
            (Some(&RASPBERRY_PI_5), "llama.cpp-cpu"),
            (None, "llama.cpp-cpu"),
        ] {
            assert_eq!(on(device).as_deref(), Some(engine), "{device:?}");
        }
    }

    #[test]
    fn an_engine_is_chosen_whole_or_by_its_program() {
        let on = |text: &str| EngineChoice::parse(text).unwrap().on(Some(&H100_SXM)).unwrap().to_string();
        assert_eq!([on("vLLM"), on("llama.cpp-vulkan")], ["vllm-cuda", "llama.cpp-vulkan"]);
        let error = EngineChoice::parse("fastest").unwrap_err();
        assert!(error.contains("there are exllamav2-cuda, "), "{error}");
    }
}
