//! Flags for several devices, a host beside a device, a draft model and many users.

use clap::Args;

use crate::many::Offload;
use roofline_render::written;

/// How a model is dealt out, and for whom.
#[derive(Debug, Default, Args)]
pub struct Many {
    /// Devices that share each matrix; the best layout is found where none is given.
    #[arg(long, value_name = "DEVICES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub tensor: Option<u64>,
    /// Stages that the layers are dealt over.
    #[arg(long, value_name = "STAGES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub pipeline: Option<u64>,
    /// Devices that the routed experts of a stage are dealt over.
    #[arg(long, value_name = "DEVICES", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub experts: Option<u64>,
    /// What the links of a device to the others carry in one direction, such as 56GB/s of a bridge between two cards; that of its
    /// data sheet if not given.
    #[arg(long, value_name = "GB/s", value_parser = bus)]
    pub link: Option<f64>,
    /// Leave some of the model to the host: `auto` as little as fits, a number for the layers that stay on the device, `experts`
    /// only routed experts.
    #[arg(long, value_name = "auto, LAYERS or experts", value_parser = left)]
    pub offload: Option<Offload>,
    /// The host, such as bandwidth=83GB/s,memory=192GB or a processor's name.
    #[arg(long, value_name = "DEVICE", requires = "offload")]
    pub host: Option<String>,
    /// What the bus between host and device carries in one direction, such as 63GB/s; that of the device's PCIe if not given.
    #[arg(long, value_name = "GB/s", requires = "offload", value_parser = bus)]
    pub bus: Option<f64>,
    /// Users that are answered at once.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub users: Option<u64>,
    /// Tokens of each user's prompt; 1024 if not given.
    #[arg(long, value_name = "TOKENS", requires = "users", allow_negative_numbers = true, value_parser = written::tokens)]
    pub input: Option<f64>,
    /// Tokens of each answer; 256 if not given.
    #[arg(long, value_name = "TOKENS", requires = "users", allow_negative_numbers = true, value_parser = written::tokens)]
    pub output: Option<f64>,
    /// Share of each prompt whose cache is still there, such as 50%.
    #[arg(long, value_name = "SHARE", requires = "users", allow_negative_numbers = true, value_parser = written::share)]
    pub reuse: Option<f64>,
    /// What a layout must meet, such as 'token_time <= 50 [ms/token]'; `help` lists the names; may be repeated.
    #[arg(long, value_name = "CONDITION")]
    pub objective: Vec<String>,
    /// Chance that a token of the draft model is accepted, such as 0.75.
    #[arg(long, value_name = "SHARE", requires = "draft", allow_negative_numbers = true, value_parser = written::share)]
    pub accept: Option<f64>,
    /// Tokens that the draft model makes for each pass.
    #[arg(long, value_name = "TOKENS", requires = "draft", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub drafts: u64,
    /// Microseconds that a message between devices takes to start, in an estimate; eight H100 take 15 for the smallest.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 15.0, allow_negative_numbers = true)]
    pub message_cost: f64,
}

fn left(text: &str) -> Result<Offload, String> {
    match text {
        "auto" => Ok(Offload::Auto),
        "experts" => Ok(Offload::Experts),
        layers => layers
            .parse()
            .map(Offload::Layers)
            .map_err(|_| "write auto, experts, or how many layers stay on the device".into()),
    }
}

fn bus(text: &str) -> Result<f64, String> {
    let rate = written::in_unit(text, "GB/s")?;
    if rate > 0.0 { Ok(rate) } else { Err(format!("`{text}` is not above zero")) }
}
