//! Inference engines of the published results, with their backends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::expectation::{Sample, samples};
use super::table::Row;
use roofline_formulas::hardware::devices::{Device, Kind, Vendor};

/// An inference engine with its backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Engine {
    /// Name of the engine: `llama.cpp`, `vllm`.
    pub name: String,
    /// Backend: `cuda`, `metal`, `rocm`, `vulkan` or `cpu`.
    pub backend: &'static str,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.name, self.backend)
    }
}

/// Words in published backends, and the backends they denote.
const BACKENDS: [(&str, &str); 8] = [
    ("metal", "metal"),
    ("mtl", "metal"),
    ("vulkan", "vulkan"),
    ("rocm", "rocm"),
    ("hip", "rocm"),
    ("rocwmma", "rocm"),
    ("cuda", "cuda"),
    // Last, because a source may list the CPU in addition to the backend of the GPU.
    ("cpu", "cpu"),
];

impl Engine {
    /// The engine that uses layer split and processes prompts in batches.
    pub(super) const LLAMA_CPP: &'static str = "llama.cpp";

    /// Returns the engine of a row; the device determines a missing backend.
    pub(super) fn for_row(row: &Row, device: Option<&Device>) -> Engine {
        let backend = row.backend.to_lowercase();
        let backend = BACKENDS.iter().find(|(word, _)| backend.contains(word)).map(|(_, backend)| *backend);
        Engine {
            name: normalize_name(&row.engine),
            backend: backend.unwrap_or_else(|| default_backend(device)),
        }
    }

    /// Parses an engine with its backend, such as `llama.cpp-cuda`.
    pub fn parse(text: &str) -> Option<Engine> {
        let (name, backend) = text.rsplit_once('-')?;
        let (_, backend) = BACKENDS.iter().find(|(_, known)| *known == backend)?;
        (!name.is_empty()).then(|| Engine { name: name.to_owned(), backend })
    }

    /// Returns every engine with its numbers of decode and prefill rows.
    pub fn all() -> BTreeMap<&'static Engine, [usize; 2]> {
        let mut all: BTreeMap<&Engine, [usize; 2]> = BTreeMap::new();
        for sample in samples() {
            all.entry(&sample.features.engine).or_default()[usize::from(sample.features.prefill)] += 1;
        }
        all
    }

    /// Returns the engine with which most comparable devices were measured: CPUs for `None` or a CPU, otherwise devices of the same kind
    /// and vendor, or of the same kind. The number of rows breaks ties.
    fn most_used(device: Option<&Device>) -> Option<Engine> {
        let most_devices = |comparable: &dyn Fn(&Sample) -> bool| {
            let mut used: BTreeMap<&Engine, (BTreeSet<&str>, usize)> = BTreeMap::new();
            for sample in samples().iter().filter(|sample| comparable(sample)) {
                let (devices, rows) = used.entry(&sample.features.engine).or_default();
                devices.insert(sample.device.name);
                *rows += 1;
            }
            let most = used.into_iter().max_by_key(|(_, (devices, rows))| (devices.len(), *rows));
            most.map(|(engine, _)| engine.clone())
        };
        match device.filter(|device| default_backend(Some(device)) != "cpu") {
            None => most_devices(&|sample| sample.features.engine.backend == "cpu"),
            Some(Device { kind, vendor, .. }) => {
                most_devices(&|sample| (sample.device.kind, sample.device.vendor) == (*kind, *vendor))
                    .or_else(|| most_devices(&|sample| sample.device.kind == *kind))
            }
        }
    }
}

/// Selection of the engine for expected speeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineChoice {
    name: Option<String>,
    backend: Option<&'static str>,
}

impl EngineChoice {
    /// Parses `llama.cpp-cuda`, or `llama.cpp` for the default backend of the device.
    ///
    /// # Errors
    /// Lists the known engines.
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
        Err(format!("unknown engine; expected one of {}", known.join(", ")))
    }

    /// Returns the engine for a device, or for a measured machine if `device` is `None`. `None` if no engine was selected and there are no
    /// results for such devices.
    pub fn on(&self, device: Option<&Device>) -> Option<Engine> {
        match &self.name {
            Some(name) => Some(Engine {
                name: name.clone(),
                backend: self.backend.unwrap_or_else(|| default_backend(device)),
            }),
            None => Engine::most_used(device),
        }
    }

    /// Returns whether no engine was selected.
    pub fn is_default(&self) -> bool {
        self.name.is_none()
    }
}

/// Normalizes a published name: wrappers of llama.cpp become llama.cpp, and versions are removed.
fn normalize_name(name: &str) -> String {
    let name = name.to_lowercase();
    match name.split_whitespace().next() {
        Some("ollama") | None => Engine::LLAMA_CPP.into(),
        Some(first) => first.to_owned(),
    }
}

fn default_backend(device: Option<&Device>) -> &'static str {
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
    fn engines_are_normalized_with_their_backend() {
        let head = "device,engine,backend,model,quant,phase,test,context,batch,tokens_per_s\n";
        let engine = |text: &str| {
            let row = super::super::read(&format!("{head}{text}\n")).unwrap().remove(0);
            Engine::for_row(&row, Some(row.with_ceiling().unwrap().device)).to_string()
        };
        assert_eq!(engine("RTX 4090,Ollama,,Llama-2-7B,Q4_0,tg,x,1,1,1"), "llama.cpp-cuda");
        assert_eq!(engine("RX 7900 XTX,MLC LLM,HIP,Llama-2-7B,Q4_0,tg,x,1,1,1"), "mlc-rocm");
    }

    #[test]
    fn the_default_engine_is_the_most_common_for_comparable_devices() {
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
    fn engines_are_selected_with_or_without_backend() {
        let on = |text: &str| EngineChoice::parse(text).unwrap().on(Some(&H100_SXM)).unwrap().to_string();
        assert_eq!([on("vLLM"), on("llama.cpp-vulkan")], ["vllm-cuda", "llama.cpp-vulkan"]);
        let error = EngineChoice::parse("fastest").unwrap_err();
        assert!(error.contains("expected one of exllamav2-cuda, "), "{error}");
    }
}
