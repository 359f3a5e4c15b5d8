//! Suggestions for misspelled names.

/// Returns the candidate with the smallest edit distance, if at most a third of the characters differ (one in a short name).
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let characters = name.chars().count();
    if characters > 64 {
        return None;
    }
    let most = (characters / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            let longer = candidate.chars().count().max(characters);
            // A single character is too short for a suggestion.
            *distance <= most && *distance < longer && longer <= 64
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Number of insertions, deletions, replacements and swaps of neighbors; a difference in case counts half, rounded down.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > 32 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).map(|j| 2 * j).collect();
    for i in 1..=a.len() {
        let mut next = vec![2 * i];
        for j in 1..=b.len() {
            let cost = match (a[i - 1], b[j - 1]) {
                (x, y) if x == y => 0,
                (x, y) if x.eq_ignore_ascii_case(&y) => 1,
                _ => 2,
            };
            let mut best = (row[j] + 2).min(next[j - 1] + 2).min(row[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 2);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()] / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested_and_others_are_not() {
        let known = ["total_params", "bandwidth", "compute"];
        assert_eq!(closest("total_parms", known), Some("total_params"));
        assert_eq!(closest("bandwith", known), Some("bandwidth"));
        assert_eq!(closest("Compute", known), Some("compute"));
        assert_eq!(closest("latency", known), None);
        assert_eq!((closest("b", ["B", "s"]), closest("k", ["B", "s"])), (Some("B"), None));
        assert_eq!(closest(&"x".repeat(10_000), known), None);
    }
}
