//! Shape propagation through convolutional networks, from the input of the first layer with the channels and strides of each
//! convolution.

use super::feed_forward::Input;
use roofline_formulas::operation::{Inputs, Outputs};

/// Shapes produced so far.
pub(super) struct Shapes {
    /// Input of the network, until the first convolution takes it.
    network: Option<Input>,
    /// Channels and size of each output, in execution order.
    outputs: Vec<(u64, Vec<u64>)>,
}

/// Kernel shape of a convolution: outputs and inputs per group, in reverse order if transposed.
pub(super) struct Kernels<'a> {
    pub name: &'a str,
    pub first: u64,
    pub second: u64,
    pub kernel: &'a [u64],
    /// Length of the bias, which equals the number of outputs.
    pub bias: Option<u64>,
}

/// Convolution with its input.
pub(super) struct PlacedConvolution {
    channels: u64,
    size: Vec<u64>,
    transposed: bool,
    input: Input,
}

/// Parts of names that indicate transposed convolutions.
const TRANSPOSED: &[&str] = &["deconv", "transpose", "convt", "conv_t", "upconv", "up_conv", "ups."];

impl Kernels<'_> {
    /// Returns true if the kernel accepts this number of channels.
    fn takes(&self, channels: u64, transposed: bool) -> bool {
        if transposed {
            return channels == self.first;
        }
        let groups = channels / self.second.max(1);
        groups > 0 && channels.is_multiple_of(self.second.max(1)) && self.first.is_multiple_of(groups)
    }

    /// Returns true if the kernel accepts this number of channels as a plain or a depthwise convolution.
    fn takes_exactly(&self, channels: u64) -> bool {
        channels == self.second || (self.second == 1 && channels == self.first)
    }

    /// Infers from bias and name if the convolution is transposed; `None` if they are inconclusive.
    fn is_transposed(&self) -> Option<bool> {
        let name = self.name.to_lowercase();
        match self.bias {
            Some(outputs) if self.first != self.second && outputs == self.second => Some(true),
            Some(outputs) if self.first != self.second && outputs == self.first => Some(false),
            _ => TRANSPOSED.iter().any(|part| name.contains(part)).then_some(true),
        }
    }
}

impl Shapes {
    pub fn new(network: Option<&Input>) -> Shapes {
        Shapes { network: network.cloned(), outputs: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Returns the number of positions of the latest output with this number of channels.
    pub fn positions(&self, channels: u64) -> Option<u64> {
        let (_, size) = self.outputs.iter().rev().find(|(known, _)| *known == channels)?;
        size.iter().try_fold(1u64, |product, side| product.checked_mul(*side))
    }

    /// Finds the input of a convolution: the given one, or the latest matching output; `None` if there is none yet.
    pub fn place(
        &mut self,
        kernels: &Kernels,
        own: Option<Input>,
    ) -> Option<Result<PlacedConvolution, String>> {
        let rank = kernels.kernel.len();
        let mut input = own.unwrap_or_default();
        if input.size.is_empty()
            && let Some(network) = self.network.take_if(|network| fits(network, kernels))
        {
            let given = input;
            input = Input { size: network.size.clone(), ..network };
            input.stride = given.stride.or(input.stride);
            input.padding = given.padding.or(input.padding);
            input.transposed = given.transposed.or(input.transposed);
            input.dilation = given.dilation.or(input.dilation);
            input.extra = given.extra.or(input.extra);
        }
        let known = input.transposed.or_else(|| kernels.is_transposed());
        let transposed = known.unwrap_or(false);
        let (channels, size) = match input.size.as_slice() {
            [] => {
                let same_rank = |(_, size): &&(u64, Vec<u64>)| size.len() == rank;
                let latest = || self.outputs.iter().rev().filter(same_rank);
                let plain = || latest().find(|(channels, _)| kernels.takes_exactly(*channels));
                let turned = || latest().find(|(channels, _)| kernels.takes(*channels, true));
                let grouped = || {
                    latest()
                        .find(|(channels, _)| *channels == kernels.first && kernels.takes(*channels, false))
                };
                let (found, transposed) = match (transposed, known) {
                    (true, _) => (turned()?, true),
                    (false, Some(_)) => (plain().or_else(grouped)?, false),
                    // Grouped and transposed convolutions may have equal shapes; even kernels are usually transposed.
                    (false, None) => {
                        let even = kernels.kernel.iter().all(|side| side.is_multiple_of(2));
                        let grouped = || grouped().map(|found| (found, false));
                        let turned = || turned().map(|found| (found, true));
                        let plain = plain().map(|found| (found, false));
                        match even {
                            true => plain.or_else(turned).or_else(grouped)?,
                            false => plain.or_else(grouped).or_else(turned)?,
                        }
                    }
                };
                let (channels, size) = found.clone();
                return Some(Ok(PlacedConvolution { channels, size, transposed, input }));
            }
            size if size.len() == rank => {
                let channels = if transposed { kernels.first } else { kernels.second };
                (channels, size.to_vec())
            }
            [channels, size @ ..] if size.len() == rank => (*channels, size.to_vec()),
            other => {
                let found = other.len();
                let what = format!(
                    "its input has {rank} dimensions and optional channels, but {found} numbers are given"
                );
                return Some(Err(what));
            }
        };
        if !kernels.takes(channels, transposed) {
            let takes = if transposed { kernels.first } else { kernels.second };
            return Some(Err(format!(
                "its weights take {takes} channels or a multiple, but the input has {channels}"
            )));
        }
        Some(Ok(PlacedConvolution { channels, size, transposed, input }))
    }

    /// Records the output of a convolution.
    pub fn record(&mut self, shape: &Inputs, outputs: &Outputs) {
        let sides = if shape.transposed == 1.0 {
            [outputs.transposed_depth, outputs.transposed_height, outputs.transposed_width]
        } else {
            [outputs.output_depth, outputs.output_height, outputs.output_width]
        };
        let kernel = [shape.kernel_depth, shape.kernel_height, shape.kernel_width];
        let input = [shape.input_depth, shape.input_height, shape.input_width];
        // Missing leading dimensions have size 1 and stay so.
        let missing = (0..2).take_while(|place| kernel[*place] == 1.0 && input[*place] == 1.0).count();
        let size = sides.iter().skip(missing).map(|side| *side as u64).collect();
        self.outputs.push((shape.out_channels as u64, size));
    }
}

/// Returns true if the input of the network fits this convolution.
fn fits(network: &Input, kernels: &Kernels) -> bool {
    match network.size.as_slice() {
        [] => false,
        size if size.len() == kernels.kernel.len() => true,
        [channels, size @ ..] => size.len() == kernels.kernel.len() && kernels.takes_exactly(*channels),
    }
}

impl PlacedConvolution {
    /// Converts to the inputs of `operation-v1`.
    pub fn shape(self, blank: Inputs, kernels: &Kernels) -> Result<Inputs, String> {
        let PlacedConvolution { channels, size, transposed, input } = self;
        let (kernel, rank) = (kernels.kernel, kernels.kernel.len());
        let groups = if transposed { 1 } else { channels / kernels.second.max(1) };
        let outputs = if transposed { kernels.second } else { kernels.first };
        // Missing leading dimensions have size 1.
        let of = |numbers: &[u64], back: usize, missing: u64| {
            let at = numbers.len().checked_sub(back);
            at.and_then(|at| numbers.get(at)).copied().unwrap_or(missing)
        };
        let there = |back: usize| back <= rank;
        let step = |back: usize| match input.stride {
            _ if !there(back) => 1,
            Some(stride) => stride,
            // Transposed convolutions usually double the size, or upsample by half their kernel size.
            None if transposed => (of(kernel, back, 1) / 2).max(2).min(of(kernel, back, 1).max(1)),
            None => 1,
        };
        let gap = |back: usize| if there(back) { input.dilation.unwrap_or(1) } else { 1 };
        let pad = |back: usize| match input.padding {
            _ if !there(back) => 0,
            Some(padding) => padding,
            None if transposed => of(kernel, back, 1).saturating_sub(step(back)).div_ceil(2),
            None => (of(kernel, back, 1).saturating_sub(1)).saturating_mul(gap(back)) / 2,
        };
        let more = |back: usize| match input.extra {
            _ if !there(back) || !transposed => 0,
            Some(extra) => extra,
            None => of(kernel, back, 1).saturating_sub(step(back)) % 2,
        };
        let three = |of: &dyn Fn(usize) -> u64| [of(3) as f64, of(2) as f64, of(1) as f64];
        let [input_depth, input_height, input_width] = three(&|back| of(&size, back, 1));
        let [kernel_depth, kernel_height, kernel_width] = three(&|back| of(kernel, back, 1));
        let [stride_depth, stride_height, stride_width] = three(&step);
        let [padding_depth, padding_height, padding_width] = three(&pad);
        let [dilation_depth, dilation_height, dilation_width] = three(&gap);
        let [extra_depth, extra_height, extra_width] = three(&more);
        Ok(Inputs {
            in_channels: channels as f64,
            out_channels: outputs as f64,
            groups: groups as f64,
            transposed: if transposed { 1.0 } else { 0.0 },
            input_depth,
            input_height,
            input_width,
            kernel_depth,
            kernel_height,
            kernel_width,
            stride_depth,
            stride_height,
            stride_width,
            padding_depth,
            padding_height,
            padding_width,
            dilation_depth,
            dilation_height,
            dilation_width,
            extra_depth,
            extra_height,
            extra_width,
            ..blank
        })
    }
}

/// Splits a name into text and numbers for natural sorting, so that layer 10 follows layer 9.
pub(super) fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (words, behind) = rest.split_at(text);
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, behind) = behind.split_at(digits);
        out.push((words.to_owned(), number.parse().unwrap_or(0)));
        rest = behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bias_distinguishes_transposed_convolutions() {
        let transposed = |name, first, second, bias| {
            Kernels { name, first, second, kernel: &[2, 2], bias }.is_transposed()
        };
        assert_eq!(transposed("up.0.weight", 32, 16, Some(16)), Some(true));
        assert_eq!(transposed("down.0.weight", 32, 16, Some(32)), Some(false));
        assert_eq!(transposed("up.0.weight", 32, 32, Some(32)), None);
        assert_eq!(transposed("deconv.weight", 32, 16, None), Some(true));
        assert_eq!(transposed("conv.weight", 32, 16, None), None);
    }

    #[test]
    fn layers_sort_naturally() {
        let mut names = ["features.10.weight", "features.2.weight", "features.2.bias", "classifier.1.weight"];
        names.sort_by_key(|name| natural_key(name));
        assert_eq!(
            names,
            ["classifier.1.weight", "features.2.bias", "features.2.weight", "features.10.weight"]
        );
    }
}
