//! From the free text of a published contract to formulas of ours: Unicode operators, set membership, chained
//! comparisons, qualifiers. What does not become a formula is told with its reason; nothing is guessed.

use crate::formula::{Formula, Kind, Statement};
use crate::source::Source;

/// A text of ours, and what was left out of it on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// In the grammar of formulas, names as published.
    pub text: String,
    /// Words that said nothing the domains do not say.
    pub left_out: Option<String>,
}

/// Splits at `;` and line breaks that stand outside of all brackets.
pub fn statements(text: &str) -> Vec<&str> {
    split(text, |rest| rest.starts_with(';').then_some(1))
}

/// Splits outside of brackets wherever `at` finds a separator, and drops empty parts.
pub fn split(text: &str, at: impl Fn(&str) -> Option<usize>) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut skip) = (0usize, 0, 0);
    for (offset, character) in text.char_indices() {
        if offset < skip {
            continue;
        }
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0
            && let Some(length) = at(&text[offset..])
        {
            parts.push(&text[start..offset]);
            start = offset + length;
            skip = start;
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Whether a text parses as an equation (`name = ...`, `name <= ...`).
pub fn equation(text: &str) -> Option<Statement> {
    let source = Source { name: String::new(), text: text.to_owned(), sha256: String::new() };
    Statement::parse(&source.whole()).ok()
}

/// Whether a text parses as an expression.
pub fn expression(text: &str) -> Option<Formula> {
    let source = Source { name: String::new(), text: text.to_owned(), sha256: String::new() };
    Formula::parse(&source.whole()).ok()
}

/// Whether it says something that can be true or false.
pub fn is_claim(formula: &Formula) -> bool {
    match &formula.top().kind {
        Kind::Binary(operator, ..) => !operator.is_arithmetic(),
        Kind::Not(_) | Kind::Monotone { .. } | Kind::Is(..) => true,
        Kind::Call(function, _) => function.name() == "finite",
        _ => false,
    }
}

/// Operators as the grammar writes them.
pub fn ascii(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '×' | '·' | '∗' | '⋅' => out.push('*'),
            '÷' | '∕' => out.push('/'),
            '−' | '–' => out.push('-'),
            '≤' => out += "<=",
            '≥' => out += ">=",
            '≠' => out += "!=",
            '∧' => out += " and ",
            '∨' => out += " or ",
            '¬' => out += " not ",
            '⟹' | '⇒' | '→' => out += " implies ",
            '⟺' | '⇔' | '↔' => out += " iff ",
            '²' => out += "^2",
            '³' => out += "^3",
            '⌊' => out += "floor(",
            '⌈' => out += "ceil(",
            '⌋' | '⌉' => out.push(')'),
            '&' if characters.next_if_eq(&'&').is_some() => out += " and ",
            '|' if characters.next_if_eq(&'|').is_some() => out += " or ",
            '*' if characters.next_if_eq(&'*').is_some() => out.push('^'),
            '=' if characters.next_if_eq(&'>').is_some() => out += " implies ",
            '-' if characters.peek() == Some(&'>') => {
                characters.next();
                out += " implies ";
            }
            '<' if characters.clone().take(2).eq(['=', '>']) => {
                characters.nth(1);
                out += " iff ";
            }
            other => out.push(other),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A claim in our grammar, or why there is none.
pub fn claim(text: &str) -> Result<Translated, String> {
    let mut left_out = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(translated) = read_claim(rest) {
            let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
            return Ok(Translated { text: translated, left_out });
        }
        // Words behind the claim: a remark in parentheses, or that it is about valid inputs.
        if let Some((head, remark)) = remark(rest) {
            left_out.push(format!("({remark})"));
            rest = head;
        } else if let Some((head, tail)) = rest.rsplit_once(" for ").filter(|(_, tail)| only_says_valid(tail))
        {
            left_out.push(format!("for {tail}"));
            rest = head.trim_end();
        } else {
            return Err(why_not(text));
        }
    }
}

/// A trailing remark in parentheses that is no part of a formula.
pub fn remark(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(')')?;
    let open = inner.rfind('(')?;
    let head = text[..open].trim_end();
    // `f(x)` is a call, `a * (b + c)` a formula: a remark stands after a space and after an operand.
    let after_operand = head.ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == ']' || c == '}');
    (text[..open].ends_with(' ') && after_operand).then_some((head, inner[open + 1..].trim()))
}

/// `all valid inputs` and the like: what the domains say anyway.
fn only_says_valid(tail: &str) -> bool {
    const WORDS: [&str; 25] = [
        "all",
        "any",
        "every",
        "each",
        "the",
        "a",
        "valid",
        "positive",
        "given",
        "input",
        "inputs",
        "model",
        "models",
        "config",
        "configs",
        "configuration",
        "configurations",
        "parameters",
        "values",
        "hardware",
        "specs",
        "sizes",
        "and",
        "same",
        "in-domain",
    ];
    let tail = tail.trim();
    !tail.is_empty() && tail.split_whitespace().all(|word| WORDS.contains(&word.to_lowercase().as_str()))
}

fn read_claim(text: &str) -> Option<String> {
    let text = direction(text).unwrap_or_else(|| ascii(text));
    let text = members(&text)?;
    let text = equalities(&unchained(&text));
    expression(&text).filter(is_claim).map(|_| text)
}

/// `x monotonically increases with q` and its like.
fn direction(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| {
        matches!(
            *word,
            "increases"
                | "increasing"
                | "non-decreasing"
                | "decreases"
                | "decreasing"
                | "non-increasing"
                | "grows"
                | "falls"
        )
    })?;
    let rising = matches!(words[at], "increases" | "increasing" | "non-decreasing" | "grows");
    let [link, quantity] = words.get(at + 1..)? else { return None };
    if !matches!(*link, "with" | "in") {
        return None;
    }
    let subject: Vec<&str> = words[..at]
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "is" | "monotonically" | "monotone" | "weakly" | "strictly"))
        .collect();
    // Strictness is false in floating point; the weak claim is not what was said.
    if words[..at].contains(&"strictly") {
        return None;
    }
    let [subject] = subject.as_slice() else { return None };
    Some(format!("{subject} {} in {quantity}", if rising { "increasing" } else { "decreasing" }))
}

/// `x ∈ [a, b]` as comparisons, `x ∈ {a, b}` as a choice. None for other sets.
fn members(text: &str) -> Option<String> {
    if !text.contains('∈') {
        return Some(text.to_owned());
    }
    let mut parts = Vec::new();
    for part in split(text, |rest| rest.starts_with(" and ").then_some(5)) {
        let Some((value, set)) = part.split_once('∈') else {
            parts.push(part.to_owned());
            continue;
        };
        let (value, set) = (value.trim(), set.trim());
        expression(value)?;
        let inner = set.get(1..set.len().checked_sub(1)?)?;
        let limits: Vec<&str> = inner.split(',').map(str::trim).collect();
        match (set.chars().next()?, set.chars().next_back()?, limits.as_slice()) {
            ('{', '}', values) => {
                let choices: Vec<String> = values.iter().map(|one| format!("{value} == {one}")).collect();
                parts.push(format!("({})", choices.join(" or ")));
            }
            (open @ ('[' | '('), close @ (']' | ')'), [low, high]) => {
                let (above, below) =
                    (if open == '[' { ">=" } else { ">" }, if close == ']' { "<=" } else { "<" });
                parts.push(format!("{value} {above} {low} and {value} {below} {high}"));
            }
            _ => return None,
        }
    }
    Some(parts.join(" and "))
}

/// `a <= b < c` as `a <= b and b < c`, in each part between logical words.
fn unchained(text: &str) -> String {
    let word = |rest: &str| {
        [" and ", " or ", " implies ", " iff "].into_iter().find(|word| rest.starts_with(word)).map(str::len)
    };
    let mut out = text.to_owned();
    for part in split(text, word) {
        let operands = split(part, comparison);
        if operands.len() < 3 {
            continue;
        }
        let mut at = 0;
        let mut pairs = Vec::new();
        for pair in operands.windows(2) {
            let Some(first) = part[at..].find(pair[0]).map(|found| at + found) else { return out };
            let between = first + pair[0].len();
            let Some(second) = part[between..].find(pair[1]).map(|found| between + found) else { return out };
            pairs.push(format!("{} {} {}", pair[0], part[between..second].trim(), pair[1]));
            at = second;
        }
        let pairs = pairs.join(" and ");
        out = if part == text { pairs } else { out.replacen(part, &format!("({pairs})"), 1) };
    }
    out
}

fn comparison(rest: &str) -> Option<usize> {
    ["<=", ">=", "==", "!=", "<", ">"].into_iter().find(|sign| rest.starts_with(sign)).map(str::len)
}

/// `a = b` as `a == b`.
fn equalities(text: &str) -> String {
    let mut out = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| characters.get(at));
        let lone = *character == '='
            && !matches!(before, Some('=' | '<' | '>' | '!'))
            && characters.get(index + 1) != Some(&'=');
        out.push(*character);
        if lone {
            out.push('=');
        }
    }
    out
}

/// Why a text is no formula, in a few words.
pub fn why_not(text: &str) -> String {
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let index = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| {
        word.rsplit_once('_').is_some_and(|(name, index)| {
            !name.is_empty() && matches!(index, "i" | "j" | "k" | "t" | "n" | "b")
        })
    });
    let reason = if has(&["Σ", "∑", "Π", "∏", "sum(", "mean("]) {
        "a sum or product over an index; formulas are about single numbers"
    } else if has(&["∀", "∃", "for all i", "for each", "for every"]) {
        "it is about every element of something; formulas are about single numbers"
    } else if has(&["ℝ^", "ℝⁿ", "]ⁿ", ")^n", "]^n", "R^", "softmax", "argmax", "argmin"])
        || index
        || has(&["_{", "[i]", "[j]"])
    {
        "it is about vectors or indexes; formulas are about single numbers"
    } else if has(&["sqrt", "√", "exp(", "log(", "ln(", "sin(", "cos(", "tanh"]) {
        "a function that formulas do not have"
    } else if has(&["strictly"]) {
        "strict monotonicity, which is false in floating point; the weak claim is another one"
    } else if has(&["%", " mod "]) {
        "a remainder; formulas have none"
    } else if text.matches('|').count() >= 2 {
        "an absolute value; formulas have none"
    } else if has(&["≈", "~", "±", "O("]) {
        "it is approximate, and does not say how far it may be off"
    } else if has(&[".len()", "::", ".is_", ".iter()", "assert", "()"]) {
        "it is code"
    } else if has(&["@"]) {
        "it is about matrices; formulas are about single numbers"
    } else {
        "it is prose"
    };
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        claim(text).ok().map(|translated| translated.text)
    }

    #[test]
    fn claims_come_over_in_our_grammar() {
        for (published, ours) in [
            ("a > 0 ∧ b > 0 for valid inputs", "a > 0 and b > 0"),
            ("x ≥ 0 (never negative)", "x >= 0"),
            ("a < b ⟹ c <= d", "a < b implies c <= d"),
            ("a < b => c <= d", "a < b implies c <= d"),
            ("r ∈ [0, 1]", "r >= 0 and r <= 1"),
            ("r ∈ (0, 1] ∧ s ∈ {2, 4}", "r > 0 and r <= 1 and (s == 2 or s == 4)"),
            ("0 <= r <= 1", "0 <= r and r <= 1"),
            ("a > 0 and 0 <= r <= 1", "a > 0 and (0 <= r and r <= 1)"),
            ("total = a × b", "total == a * b"),
            ("bytes monotonically increases with params", "bytes increasing in params"),
            ("rate is decreasing in bits", "rate decreasing in bits"),
        ] {
            assert_eq!(of(published).as_deref(), Some(ours), "{published}");
        }
    }

    #[test]
    fn what_is_no_claim_has_a_reason() {
        for (published, reason) in [
            ("Σ_i p_i = 1", "over an index"),
            ("p_i > 0 for all i", "every element"),
            ("softmax(x) sums to one", "vectors"),
            ("|a - b| < 1e-6", "absolute value"),
            ("input.len() > 0", "code"),
            ("h % n == 0", "remainder"),
            ("Higher bandwidth gives a higher ceiling", "prose"),
            ("bytes strictly increasing in params", "strict monotonicity"),
            ("a * b", "prose"),
        ] {
            let why = claim(published).expect_err(published);
            assert!(why.contains(reason), "{published}: {why}");
        }
    }
}
