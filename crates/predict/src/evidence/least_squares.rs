//! Least squares with lower bounds for a few unknowns, and the condition number of the system.

/// A solution with the condition number of the matrix after its columns were normalized, which bounds the amplification of errors.
pub(super) struct Solution<const N: usize> {
    pub values: [f64; N],
    pub condition: f64,
}

/// Minimizes the error of `row · values = 1` over all rows. Unused columns and values that would fall below `min` are set to `min`.
/// Returns `None` if there are fewer rows than unknowns or the matrix is singular.
pub(super) fn solve<const N: usize>(
    rows: &[[f64; N]],
    used: [bool; N],
    min: [f64; N],
) -> Option<Solution<N>> {
    let mut free = used;
    let condition = condition(rows, used);
    if rows.len() < used.iter().filter(|used| **used).count() || !condition.is_finite() {
        return None;
    }
    loop {
        let solved = solve_unbounded(rows, free, &min)?;
        let below = (0..N).filter(|at| free[*at] && solved[*at] < min[*at]);
        // Fix the value that is farthest below its bound, and solve for the others again.
        let Some(worst) = below.max_by(|a, b| (min[*a] - solved[*a]).total_cmp(&(min[*b] - solved[*b])))
        else {
            return Some(Solution { values: solved, condition });
        };
        free[worst] = false;
        if free.iter().all(|free| !free) {
            return Some(Solution { values: min, condition });
        }
    }
}

/// Solves for the free columns without bounds; the others have the `fixed` values.
fn solve_unbounded<const N: usize>(rows: &[[f64; N]], free: [bool; N], fixed: &[f64; N]) -> Option<[f64; N]> {
    let columns: Vec<usize> = (0..N).filter(|at| free[*at]).collect();
    let mut matrix: Vec<Vec<f64>> = columns
        .iter()
        .map(|a| {
            let product = |b: &usize| rows.iter().map(|row| row[*a] * row[*b]).sum();
            let rest = |row: &[f64; N]| {
                let known: f64 = (0..N).filter(|at| !free[*at]).map(|at| row[at] * fixed[at]).sum();
                row[*a] * (1.0 - known)
            };
            columns.iter().map(product).chain([rows.iter().map(rest).sum()]).collect()
        })
        .collect();
    let size = columns.len();
    for at in 0..size {
        let largest = (at..size).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()))?;
        matrix.swap(at, largest);
        let pivot = matrix[at].clone();
        if pivot[at] == 0.0 {
            return None;
        }
        for (_, row) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != at) {
            let factor = row[at] / pivot[at];
            row.iter_mut().zip(&pivot).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut values = *fixed;
    for (at, column) in columns.into_iter().enumerate() {
        values[column] = matrix[at][size] / matrix[at][at];
    }
    values.iter().all(|value| value.is_finite()).then_some(values)
}

/// Returns the condition number of the used columns after normalization.
fn condition<const N: usize>(rows: &[[f64; N]], used: [bool; N]) -> f64 {
    let length = |at: usize| rows.iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt();
    let columns: Vec<(usize, f64)> = (0..N).filter(|at| used[*at]).map(|at| (at, length(at))).collect();
    let mut gram: Vec<Vec<f64>> = columns
        .iter()
        .map(|(a, long)| {
            let product = |(b, other): &(usize, f64)| {
                rows.iter().map(|row| row[*a] * row[*b]).sum::<f64>() / (long * other)
            };
            columns.iter().map(product).collect()
        })
        .collect();
    // Jacobi rotations diagonalize the matrix; a few sweeps suffice for its size.
    let size = gram.len();
    for _ in 0..50 {
        for p in 0..size {
            for q in p + 1..size {
                if gram[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (gram[q][q] - gram[p][p]) / (2.0 * gram[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut gram {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (above, below) = gram.split_at_mut(q);
                for (a, b) in above[p].iter_mut().zip(&mut below[0]) {
                    (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
                }
            }
        }
    }
    let values: Vec<f64> = (0..size).map(|at| gram[at][at]).collect();
    let max = values.iter().copied().fold(f64::NAN, f64::max);
    let min = values.iter().copied().fold(f64::NAN, f64::min);
    if min > 1e-12 { (max / min).sqrt() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_systems_are_solved() {
        // 2 a + 4 b = 1 etc. with a = 0.3 and b = 0.1.
        let rows = [[2.0, 4.0], [1.0, 7.0], [3.0, 1.0]];
        let found = solve(&rows, [true, true], [0.0; 2]).unwrap();
        assert!((found.values[0] - 0.3).abs() < 1e-12 && (found.values[1] - 0.1).abs() < 1e-12);
        assert!(found.condition < 3.0, "{}", found.condition);
    }

    #[test]
    fn values_respect_their_lower_bounds() {
        let rows = [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]];
        let found = solve(&[[1.0, 1.0], [1.1, 2.0], [1.2, 3.0]], [true, true], [0.0; 2]).unwrap();
        assert_eq!(found.values[1], 0.0, "the unbounded solution is negative");
        let bound = solve(&rows, [true, true], [2.0, 0.0]).unwrap();
        assert_eq!(bound.values, [2.0, 0.0]);
    }

    #[test]
    fn nearly_parallel_columns_have_a_large_condition_number() {
        let nearly = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.001]];
        assert!(solve(&nearly, [true, true], [0.0; 2]).is_none_or(|found| found.condition > 1000.0));
        assert!(solve(&[[1.0, 2.0], [2.0, 4.0]], [true, true], [0.0; 2]).is_none());
        assert!(solve(&[[1.0, 2.0]], [true, true], [0.0; 2]).is_none());
        // Two columns at an angle of 60 degrees: eigenvalues 1.5 and 0.5.
        let sixty = [[1.0, 0.5], [0.0, 0.75f64.sqrt()]];
        let found = solve(&sixty, [true, true], [0.0; 2]).unwrap();
        assert!((found.condition - 3f64.sqrt()).abs() < 1e-9, "{}", found.condition);
    }
}
