//! Convolution as im2col per output position and a matrix-vector product, with positions split over threads.

use std::sync::Mutex;

use roofline_formulas::operation::Inputs;
use roofline_kernels::{self as kernels, KernelError, Matrix, ThreadPool};

/// Weights and geometry of a convolution.
pub struct Convolution<'a> {
    weights: Matrix<'a, f32>,
    groups: usize,
    channels: usize,
    input: [usize; 3],
    output: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
}

/// Maximum bytes of inputs and outputs.
const MAX_BYTES: usize = 1 << 30;

impl<'a> Convolution<'a> {
    /// Creates a convolution with the geometry of `operation-v1`.
    pub fn new(weights: Matrix<'a, f32>, shape: &Inputs) -> Result<Convolution<'a>, String> {
        let outputs = shape.evaluate().map_err(|error| error.to_string())?;
        if shape.transposed == 1.0
            || [shape.dilation_depth, shape.dilation_height, shape.dilation_width] != [1.0; 3]
        {
            return Err("no kernel for transposed or dilated convolutions".into());
        }
        let whole = |value: f64| value as usize;
        let kernel = [shape.kernel_depth, shape.kernel_height, shape.kernel_width].map(whole);
        let (channels, groups) = (whole(shape.in_channels), whole(shape.groups).max(1));
        let taps = size(&kernel).saturating_mul(channels / groups);
        if (weights.rows(), weights.columns()) != (whole(shape.out_channels), taps) {
            return Err("its weights do not match its shape".into());
        }
        let convolution = Convolution {
            weights,
            groups,
            channels,
            input: [shape.input_depth, shape.input_height, shape.input_width].map(whole),
            output: [outputs.output_depth, outputs.output_height, outputs.output_width].map(whole),
            kernel,
            stride: [shape.stride_depth, shape.stride_height, shape.stride_width].map(whole),
            padding: [shape.padding_depth, shape.padding_height, shape.padding_width].map(whole),
        };
        let numbers =
            size(&convolution.input).saturating_mul(channels).saturating_add(convolution.numbers_out());
        if numbers.saturating_mul(4) > MAX_BYTES {
            return Err(format!("its inputs and outputs exceed {} MiB", MAX_BYTES >> 20));
        }
        Ok(convolution)
    }

    /// Returns the length of the input.
    pub fn numbers_in(&self) -> usize {
        size(&self.input).saturating_mul(self.channels)
    }

    /// Returns the length of the output.
    pub fn numbers_out(&self) -> usize {
        size(&self.output).saturating_mul(self.weights.rows())
    }

    /// Computes one sample. Outputs are ordered by position, then by channel.
    pub fn run(&self, team: &ThreadPool, input: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
        let channels = self.weights.rows();
        let positions = size(&self.output);
        let share = positions.div_ceil(team.threads()).max(1);
        let shares: Vec<_> = out.chunks_mut(share * channels).map(Mutex::new).collect();
        let failed = Mutex::new(Ok(()));
        team.run(|index| {
            let Some(Ok(mut out)) = shares.get(index).map(Mutex::lock) else { return };
            if let Err(error) = self.part(team, index * share, input, &mut out)
                && let Ok(mut failed) = failed.lock()
            {
                *failed = Err(error);
            }
        });
        failed.into_inner().unwrap_or(Ok(()))
    }

    fn part(
        &self,
        team: &ThreadPool,
        first: usize,
        input: &[f32],
        out: &mut [f32],
    ) -> Result<(), KernelError> {
        let alone = ThreadPool::single(team.isa());
        let (rows, taps) = (self.weights.rows() / self.groups, self.weights.columns());
        let mut patch = vec![0.0; taps];
        for (at, out) in out.chunks_mut(self.weights.rows()).enumerate() {
            let groups = self.weights.data().chunks(rows * taps).zip(out.chunks_mut(rows));
            for (group, (weights, out)) in groups.enumerate() {
                self.gather(first + at, group, input, &mut patch);
                kernels::matvec(&alone, Matrix::new(weights, rows, taps)?, &patch, out)?;
            }
        }
        Ok(())
    }

    /// Gathers the input under the kernel at an output position, with zero padding.
    fn gather(&self, position: usize, group: usize, input: &[f32], patch: &mut [f32]) {
        let [_, height, width] = self.output;
        let place = [position / (height * width), position / width % height, position % width];
        let corner = [0, 1, 2].map(|dimension| place[dimension] * self.stride[dimension]);
        let per_group = self.channels / self.groups;
        let [_, rows, columns] = self.input;
        let mut taps = patch.iter_mut();
        for channel in group * per_group..(group + 1) * per_group {
            for depth in 0..self.kernel[0] {
                for row in 0..self.kernel[1] {
                    for column in 0..self.kernel[2] {
                        let at = [depth, row, column];
                        let inside = [0, 1, 2].map(|dimension| {
                            (corner[dimension] + at[dimension])
                                .checked_sub(self.padding[dimension])
                                .filter(|at| *at < self.input[dimension])
                        });
                        let value = match inside {
                            [Some(z), Some(y), Some(x)] => {
                                input.get(((channel * self.input[0] + z) * rows + y) * columns + x).copied()
                            }
                            _ => None,
                        };
                        if let Some(tap) = taps.next() {
                            *tap = value.unwrap_or(0.0);
                        }
                    }
                }
            }
        }
    }
}

fn size(sides: &[usize; 3]) -> usize {
    sides.iter().fold(1, |product: usize, side| product.saturating_mul(*side))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roofline_kernels::isa::Isa;

    #[test]
    fn padding_counts_as_zeros() {
        // A 3x3 kernel of ones over a 3x3 input of ones counts the inputs under the kernel.
        let weights = [1.0f32; 9];
        let shape = Inputs {
            in_channels: 1.0,
            out_channels: 1.0,
            input_height: 3.0,
            input_width: 3.0,
            kernel_height: 3.0,
            kernel_width: 3.0,
            padding_height: 1.0,
            padding_width: 1.0,
            ..Inputs::new(1.0, 1.0)
        };
        let convolution = Convolution::new(Matrix::new(&weights, 1, 9).unwrap(), &shape).unwrap();
        for threads in [1, 2, 4] {
            let team = ThreadPool::new(Isa::detect(), threads).unwrap();
            let mut out = vec![0.0; convolution.numbers_out()];
            convolution.run(&team, &vec![1.0; convolution.numbers_in()], &mut out).unwrap();
            assert_eq!(out, [4.0, 6.0, 4.0, 6.0, 9.0, 6.0, 4.0, 6.0, 4.0]);
        }
    }

    #[test]
    fn groups_use_their_own_channels_and_strides_skip_positions() {
        // Two groups, two taps and stride 2: sums of neighbors, and twice the sums.
        let weights = [1.0f32, 1.0, 2.0, 2.0];
        let shape = Inputs {
            in_channels: 2.0,
            out_channels: 2.0,
            groups: 2.0,
            input_width: 4.0,
            kernel_width: 2.0,
            stride_width: 2.0,
            ..Inputs::new(1.0, 1.0)
        };
        let convolution = Convolution::new(Matrix::new(&weights, 2, 2).unwrap(), &shape).unwrap();
        let team = ThreadPool::single(Isa::detect());
        let mut out = vec![0.0; convolution.numbers_out()];
        convolution.run(&team, &[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0], &mut out).unwrap();
        assert_eq!(out, [3.0, 60.0, 7.0, 140.0]);
    }

    #[test]
    fn convolutions_beyond_the_memory_limit_are_rejected() {
        let size = Inputs { input_height: 1e6, input_width: 1e6, ..Inputs::new(1.0, 1.0) };
        let shape = Inputs { in_channels: 1.0, out_channels: 1.0, ..size };
        let error = Convolution::new(Matrix::new(&[1.0], 1, 1).unwrap(), &shape).err().unwrap();
        assert!(error.contains("exceed 1024 MiB"), "{error}");
    }
}
