//! Translation of the free text of published contracts to formulas: Unicode operators, set membership, chained
//! comparisons, qualifiers. Unsupported text is reported with a reason; nothing is guessed.

use crate::formula::{Formula, Function, Kind, RESERVED, Statement};
use crate::source::Source;

/// A translated formula and the omitted words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The formula, with published names.
    pub text: String,
    /// Omitted words that the domains already imply.
    pub ignored: Option<String>,
}

/// Splits at `;` and line breaks outside of brackets.
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

/// Parses an equation (`name = ...`, `name <= ...`).
pub fn equation(text: &str) -> Option<Statement> {
    let source = Source { name: String::new(), text: text.to_owned(), sha256: String::new() };
    Statement::parse(&source.whole()).ok()
}

/// Parses an expression.
pub fn expression(text: &str) -> Option<Formula> {
    let source = Source { name: String::new(), text: text.to_owned(), sha256: String::new() };
    Formula::parse(&source.whole()).ok()
}

/// True for a formula that is a condition.
pub fn is_claim(formula: &Formula) -> bool {
    match &formula.top().kind {
        Kind::Binary(operator, ..) => !operator.is_arithmetic(),
        Kind::Not(_) | Kind::Within(..) | Kind::Monotone { .. } | Kind::Is(..) => true,
        Kind::Call(function, _) => function.name() == "finite",
        _ => false,
    }
}

/// Replaces operators by those of the grammar.
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
            '₀'..='₉' => {
                // `x₁₂` becomes `x_12`.
                if !out.ends_with(|c: char| c.is_ascii_digit()) || !out.contains('_') {
                    out.push('_');
                }
                out.extend(char::from_digit(character as u32 - '₀' as u32, 10));
            }
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
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    absolute(&finite(&unbraced(&out)))
}

/// Replaces `x_{max}` by `x_max`. Indices are kept, since they refer to elements.
fn unbraced(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("_{") {
        let Some((word, behind)) = after.split_once('}') else { break };
        out += before;
        let is_word = word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic());
        out += &if is_word { format!("_{word}") } else { format!("_{{{word}}}") };
        rest = behind;
    }
    out + rest
}

/// Replaces `x.is_finite()` by `finite(x)`.
fn finite(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(".is_finite()") {
        let start = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        out += &format!("{}finite({})", &before[..start], &before[start..]);
        rest = behind;
    }
    out + rest
}

/// Replaces `|x|` by `abs(x)` if the bars enclose an expression.
fn absolute(text: &str) -> String {
    let mut parts = text.split('|');
    let Some(first) = parts.next() else { return text.to_owned() };
    let parts: Vec<&str> = parts.collect();
    if parts.is_empty() || !parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let mut out = first.to_owned();
    for pair in parts.chunks_exact(2) {
        let inner = pair[0].trim();
        if expression(inner).is_none_or(|inner| is_claim(&inner)) {
            return text.to_owned();
        }
        out += &format!("abs({inner}){}", pair[1]);
    }
    out
}

/// The sides of a chain of single `=` signs outside of brackets.
pub fn sides(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let lone = |at: usize| {
        bytes[at] == b'='
            && !matches!(at.checked_sub(1).map(|before| bytes[before]), Some(b'=' | b'<' | b'>' | b'!'))
            && !matches!(bytes.get(at + 1), Some(b'=' | b'>'))
    };
    split(text, |rest| lone(text.len() - rest.len()).then_some(1))
}

/// Parses `f(x, y)` into its name and its operands.
pub fn head(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, operands) = text.trim().strip_suffix(')')?.split_once('(')?;
    let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
    (is_name(name) && operands.iter().all(|operand| is_name(operand))).then_some((name, operands))
}

/// True for a single name.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The problem of a name that could be a product or has unsupported characters.
pub fn odd_name(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    for word in words.filter(|word| !word.is_ascii()) {
        let greek = |c: char| ('α'..='ω').contains(&c) || ('Α'..='Ω').contains(&c);
        let plain = word.trim_start_matches(['Δ', 'δ']);
        let figure = |c: char| matches!(c, '₀'..='₉' | '²' | '³');
        if let Some(odd) = word.chars().find(|c| !c.is_ascii() && !greek(*c) && !figure(*c)) {
            return Some(format!("unsupported character `{odd}` in the name `{word}`"));
        }
        let runs = plain.split('_');
        if runs.into_iter().any(|run| run.chars().any(greek) && run.chars().count() > 1) {
            return Some(format!("ambiguous: `{word}` could be one name or a product"));
        }
    }
    None
}

/// Parses bands, `F(<0.5), D[0.5, 0.75), A(>=2)`, into names with lower limits, ascending; the first has none.
pub fn bands(text: &str) -> Option<Vec<(String, Option<f64>)>> {
    let list = text.split_once(':').map_or(text, |(_, list)| list);
    let number = |text: &str| -> Option<f64> {
        let text = text.trim();
        match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|value| value / 100.0),
            None => text.parse().ok(),
        }
    };
    let mut found: Vec<(String, Option<f64>)> = Vec::new();
    let mut end: Option<f64> = None;
    let parts = split(list, |rest| rest.starts_with(',').then_some(1));
    for (at, part) in parts.iter().enumerate() {
        let open = part.find(['(', '['])?;
        let (name, limits) = part.split_at(open);
        let limits = ascii(limits);
        let inner = limits.get(1..limits.len().checked_sub(1)?)?;
        let (least, above) = if let Some(high) = inner.strip_prefix('<') {
            (None, Some(number(high)?))
        } else if let Some(low) = inner.strip_prefix(">=") {
            (Some(number(low)?), None)
        } else {
            let (low, high) = inner.split_once(',')?;
            let half_open = limits.starts_with('[') && limits.ends_with(')');
            (half_open.then_some(number(low)?), Some(number(high)?))
        };
        // Each band starts at the end of the previous one; the first has no lower and the last no upper limit.
        if least != end || (at == 0) != least.is_none() || (at + 1 == parts.len()) != above.is_none() {
            return None;
        }
        let name: String =
            name.trim().replace('+', "Plus").chars().filter(char::is_ascii_alphanumeric).collect();
        found.push((name, least));
        end = above;
    }
    (found.len() > 1).then_some(found)
}

/// Translates a claim, or returns the reason that it is unsupported.
pub fn claim(text: &str) -> Result<Translation, String> {
    if let Some(odd) = odd_name(text) {
        return Err(odd);
    }
    let mut ignored = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(translated) = read_claim(rest) {
            let ignored = (!ignored.is_empty()).then(|| ignored.join(", "));
            return Ok(Translation { text: translated, ignored });
        }
        // Trailing words: a remark in parentheses, or a restriction to valid inputs.
        if let Some((head, remark)) = remark(rest) {
            ignored.push(format!("({remark})"));
            rest = head;
        } else if let Some((head, tail)) = rest.rsplit_once(" for ").filter(|(_, tail)| only_says_valid(tail))
        {
            ignored.push(format!("for {tail}"));
            rest = head.trim_end();
        } else if let Some(conditional) = [" when ", " for ", " if ", " where "]
            .iter()
            .filter_map(|word| rest.rsplit_once(word))
            .find_map(|(head, tail)| Some(format!("({}) implies ({})", read_claim(tail)?, read_claim(head)?)))
        {
            let ignored = (!ignored.is_empty()).then(|| ignored.join(", "));
            return Ok(Translation { text: conditional, ignored });
        } else {
            return Err(why_not(text));
        }
    }
}

/// Translates the claims of a text: its statements, or the items of a comma-separated list of claims.
pub fn claims(text: &str) -> Result<Vec<Translation>, String> {
    let mut found = Vec::new();
    for part in statements(text) {
        match claim(part) {
            Ok(one) => found.push(one),
            Err(why) => {
                let listed = split(part, |rest| rest.starts_with(',').then_some(1));
                let listed: Result<Vec<Translation>, String> = listed.into_iter().map(claim).collect();
                found.extend(listed.ok().filter(|listed| listed.len() > 1).ok_or(why)?);
            }
        }
    }
    Ok(found)
}

/// Parses `a < b implies f(a) <= f(b)`.
pub fn rise(text: &str) -> Option<Monotonicity> {
    let text = ascii(text);
    let (condition, claim) = text.split_once(" implies ")?;
    let pair = |text: &str| -> Option<(String, String, bool, bool)> {
        let operands = split(text, comparison);
        let [left, right] = operands.as_slice() else { return None };
        let sign = text[left.len()..text.len() - right.len()].trim();
        let less = match sign {
            "<" | "<=" => true,
            ">" | ">=" => false,
            _ => return None,
        };
        Some(((*left).to_owned(), (*right).to_owned(), less, sign.len() == 1))
    };
    let (low, high, rises, _) = pair(condition.trim())?;
    let (first, second, less, strict) = pair(claim.trim())?;
    let ((name, one), (other, two)) = (head(&first)?, head(&second)?);
    let same = name == other && one.len() == 1 && two.len() == 1 && is_name(&low) && is_name(&high);
    let rising = if one == [low.as_str()] && two == [high.as_str()] {
        rises == less
    } else if one == [high.as_str()] && two == [low.as_str()] {
        rises != less
    } else {
        return None;
    };
    same.then(|| Monotonicity { of: name.to_owned(), operands: (low, high), rising, strict })
}

/// A claim that a function is monotone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monotonicity {
    /// The function's name.
    pub of: String,
    /// The names of the two operands that are compared.
    pub operands: (String, String),
    /// Increasing, else decreasing.
    pub rising: bool,
    /// The published claim is strict.
    pub strict: bool,
}

/// Splits off a trailing remark in parentheses that is not part of the formula.
pub fn remark(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(')')?;
    let open = inner.rfind('(')?;
    let head = text[..open].trim_end();
    // `f(x)` is a call, and `a * (b + c)` a formula: a remark follows an operand and a space.
    let after_operand = head.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '}' | '⁺'));
    (text[..open].ends_with(' ') && after_operand).then_some((head, inner[open + 1..].trim()))
}

/// True for `all valid inputs` and similar words that the domains imply.
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
    // `for all x` is implied, because claims cover all values of quantities. `for all i` is about elements.
    let all = ["all ", "every ", "any "].iter().find_map(|word| tail.strip_prefix(word));
    let quantities = all.is_some_and(|names| {
        names.split(',').map(str::trim).all(|name| is_name(name) && name.is_ascii() && !is_index(name))
    });
    let says_valid = |word: &str| WORDS.contains(&word.to_lowercase().as_str());
    !tail.is_empty() && (quantities || tail.split_whitespace().all(says_valid))
}

fn is_index(name: &str) -> bool {
    matches!(name, "i" | "j" | "k" | "t" | "n" | "b" | "h" | "m")
}

fn read_claim(text: &str) -> Option<String> {
    let text = direction(text).unwrap_or_else(|| ascii(text));
    let text = members(&text)?;
    let text = unchained(&equalities(&text));
    // Claims about constants do not involve the model.
    expression(&text).filter(|formula| is_claim(formula) && !formula.names().is_empty()).map(|_| text)
}

/// Translates `x monotonically increases with q` and similar phrases.
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
    // Strict monotonicity is false in floating point, and the weak claim differs from the published one.
    if words[..at].contains(&"strictly") {
        return None;
    }
    let [subject] = subject.as_slice() else { return None };
    Some(format!("{subject} {} in {quantity}", if rising { "increasing" } else { "decreasing" }))
}

/// Translates `x ∈ [a, b]` to comparisons and `x ∈ {a, b}` to a disjunction. None for other sets.
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

/// Replaces `a <= b < c` by `a <= b and b < c`, in each part between logical operators.
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

/// Replaces `a = b` by `a == b`.
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

/// The reason that a text is not a formula.
pub fn why_not(text: &str) -> String {
    let index = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| {
        word.rsplit_once('_').is_some_and(|(name, index)| {
            !name.is_empty() && matches!(index, "i" | "j" | "k" | "t" | "n" | "b")
        }) || word.ends_with(['ᵢ', 'ⱼ', 'ₖ', 'ₙ', 'ₜ'])
    });
    let text = absolute(text);
    let text = text.as_str();
    let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let reason = if has(&["Σ", "∑", "Π", "∏", "sum(", "mean("]) {
        "a sum or product over an index; formulas support scalars only"
    } else if has(&["∀", "∃", "for all i", "for each", "for every"]) {
        "a claim about every element; formulas support scalars only"
    } else if has(&["ℝ^", "ℝⁿ", "]ⁿ", ")^n", "]^n", "R^", "softmax", "argmax", "argmin"])
        || index
        || has(&["_{", "[i]", "[j]"])
    {
        "uses vectors or indices; formulas support scalars only"
    } else if has(&["sqrt", "√", "exp(", "log(", "ln(", "sin(", "cos(", "tanh"]) {
        "uses a function that formulas do not support"
    } else if has(&["strictly"]) {
        "strict monotonicity does not hold in floating point; the weak claim differs"
    } else if has(&["%", " mod "]) {
        "uses a remainder; write `mod(a, b)`"
    } else if text.matches('|').count() >= 2 {
        "bars around something other than a number, such as a set"
    } else if has(&["≈", "~", "±", "O("]) {
        "approximate, without a tolerance"
    } else if has(&[".len()", "::", ".is_", ".iter()", "assert", "()"]) {
        "contains code"
    } else if has(&["@"]) {
        "uses matrices; formulas support scalars only"
    } else if let Some(function) = unknown_call(text) {
        return format!("unknown function `{function}`");
    } else if let Some(odd) = odd_name(text) {
        return odd;
    } else if constant_claim(text) {
        "involves only constants"
    } else {
        return not_a_formula(text);
    };
    reason.to_owned()
}

/// The called function that formulas do not support.
fn unknown_call(text: &str) -> Option<&str> {
    text.char_indices().filter(|(_, c)| *c == '(').find_map(|(at, _)| {
        let before = &text[..at];
        let start = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |found| found + before[found..].chars().next().map_or(1, char::len_utf8));
        let name = &before[start..];
        let known = RESERVED.contains(&name) || Function::ALL.iter().any(|(function, _)| *function == name);
        (is_name(name) && !known).then_some(name)
    })
}

fn constant_claim(text: &str) -> bool {
    let text = unchained(&equalities(&ascii(text)));
    expression(&text).is_some_and(|formula| is_claim(&formula) && formula.names().is_empty())
}

/// The syntax error of a text with operators; a text without operators is prose.
fn not_a_formula(text: &str) -> String {
    let signs = ['=', '<', '>', '*', '/', '+', '^', '≤', '≥', '×', '·', '∈', '⟹', '⇒'];
    if !text.contains(signs) {
        return "prose".into();
    }
    let source = Source { name: String::new(), text: equalities(&ascii(text)), sha256: String::new() };
    match Formula::parse(&source.whole()) {
        Err(error) => format!("not a formula: {}", error.message),
        Ok(_) => "an expression, not a claim".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        claim(text).ok().map(|translated| translated.text)
    }

    #[test]
    fn claims_are_translated_to_formulas() {
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
            ("|a - b| < 1e-6", "abs(a - b) < 1e-6"),
            ("y = x for x > 0", "(x > 0) implies (y == x)"),
            ("f = a = b when a = b", "(a == b) implies (f == a and a == b)"),
            ("y ≥ 0 for all x", "y >= 0"),
            ("x_{max} > x₁", "x_max > x_1"),
            ("rate.is_finite() ∧ rate > 0", "finite(rate) and rate > 0"),
        ] {
            assert_eq!(of(published).as_deref(), Some(ours), "{published}");
        }
    }

    #[test]
    fn lists_heads_bands_and_monotonicity_are_parsed() {
        let texts = |text: &str| -> Vec<String> {
            claims(text).expect(text).into_iter().map(|one| one.text).collect()
        };
        assert_eq!(texts("h>0, L>0; a ∈ [0, 1]"), ["h>0", "L>0", "a >= 0 and a <= 1"]);
        assert_eq!(head("f(x, y)"), Some(("f", vec!["x", "y"])));
        assert_eq!(head("f(x + 1)"), None);
        assert_eq!(sides("d = h / n = 4096 / 32"), ["d", "h / n", "4096 / 32"]);
        let grades = bands("Bounds: F(<10%), D[10%,20%), A+(>=20%)").expect("bands");
        assert_eq!(grades, [("F".into(), None), ("D".into(), Some(0.1)), ("APlus".into(), Some(0.2))]);
        for broken in ["F(<1), D[2, 3), A(>=3)", "F(<1)", "F(<1), D[1, 2)", "F, D", "F(<a), D(>=a)"] {
            assert_eq!(bands(broken), None, "{broken}");
        }
        let rises = rise("S1 < S2 => total(S1) < total(S2)").expect("a rise");
        assert!(rises.rising && rises.strict && rises.of == "total");
        let falls = rise("x ≥ y ⟹ f(x) ≤ f(y)").expect("a fall");
        assert!(!falls.rising && !falls.strict);
        assert_eq!(rise("a < b implies f(a) <= g(b)"), None);
        assert_eq!(rise("a < b implies f(a) == f(b)"), None);
    }

    #[test]
    fn unsupported_claims_have_a_reason() {
        for (published, reason) in [
            ("Σ_i p_i = 1", "over an index"),
            ("p_i > 0 for all i", "every element"),
            ("softmax(x) sums to one", "vectors"),
            ("|{i : a = b}| < 6", "other than a number"),
            ("12288 / 4096 = 3.0", "only constants"),
            ("size(q4) < 3", "unknown function `size`"),
            ("ŷ = a + b", "character `ŷ`"),
            ("y = Xβ", "one name or a product"),
            ("has bias = false", "not a formula"),
            ("input.len() > 0", "code"),
            ("h % n == 0", "remainder"),
            ("Higher bandwidth gives a higher ceiling", "prose"),
            ("bytes strictly increasing in params", "strict monotonicity"),
            ("a * b", "not a claim"),
        ] {
            let why = claim(published).expect_err(published);
            assert!(why.contains(reason), "{published}: {why}");
        }
    }
}
