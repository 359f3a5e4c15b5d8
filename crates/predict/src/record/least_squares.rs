//! Least squares with a few unknowns, none below its bound, and how well the rows determine them.

/// A solution, and the ratio of the largest to the smallest singular value of the matrix whose columns have the length 1: how much
/// an error of the rows may grow in it.
pub(super) struct Solution<const N: usize> {
    pub values: [f64; N],
    pub condition: f64,
}

/// The values that come nearest to `sum of row * value = 1` for all rows, of the columns that are used; the others have their
/// least. A value that would lie below its least stays there. None where there are fewer rows than unknowns, or nothing is determined.
pub(super) fn solve<const N: usize>(
    rows: &[[f64; N]],
    used: [bool; N],
    least: [f64; N],
) -> Option<Solution<N>> {
    let mut free = used;
    let condition = condition(rows, used);
    if rows.len() < used.iter().filter(|used| **used).count() || !condition.is_finite() {
        return None;
    }
    loop {
        let solved = unbounded(rows, free, &least)?;
        let below = (0..N).filter(|at| free[*at] && solved[*at] < least[*at]);
        // The one farthest below stays at its least; the others are tried again without it.
        let Some(worst) = below.max_by(|a, b| (least[*a] - solved[*a]).total_cmp(&(least[*b] - solved[*b])))
        else {
            return Some(Solution { values: solved, condition });
        };
        free[worst] = false;
        if free.iter().all(|free| !free) {
            return Some(Solution { values: least, condition });
        }
    }
}

/// The same without bounds, where the columns that are not free keep their values.
fn unbounded<const N: usize>(rows: &[[f64; N]], free: [bool; N], fixed: &[f64; N]) -> Option<[f64; N]> {
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

/// The condition number of the columns that are used, each divided by its length.
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
    // Jacobi's rotations make it diagonal; a few sweeps are enough for so small a matrix.
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
    let most = values.iter().copied().fold(f64::NAN, f64::max);
    let least = values.iter().copied().fold(f64::NAN, f64::min);
    if least > 1e-12 { (most / least).sqrt() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_that_made_the_rows_are_found() {
        // 2 a + 4 b = 1 and so on, for a = 0.3 and b = 0.1.
        let rows = [[2.0, 4.0], [1.0, 7.0], [3.0, 1.0]];
        let found = solve(&rows, [true, true], [0.0; 2]).unwrap();
        assert!((found.values[0] - 0.3).abs() < 1e-12 && (found.values[1] - 0.1).abs() < 1e-12);
        assert!(found.condition < 3.0, "{}", found.condition);
    }

    #[test]
    fn a_value_below_its_least_stays_there() {
        let rows = [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]];
        let found = solve(&[[1.0, 1.0], [1.1, 2.0], [1.2, 3.0]], [true, true], [0.0; 2]).unwrap();
        assert_eq!(found.values[1], 0.0, "less of the second would be nearer");
        let bound = solve(&rows, [true, true], [2.0, 0.0]).unwrap();
        assert_eq!(bound.values, [2.0, 0.0]);
    }

    #[test]
    fn columns_that_are_alike_determine_nothing() {
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
