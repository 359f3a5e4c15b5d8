//! The canonical form of a contract: keys in the order of the schema, an indentation of two spaces, one space around
//! operators, quotes only if YAML requires them, lines of at most [`WIDTH`] characters. Comments stay with their entries,
//! and the meaning of the contract does not change.

use std::collections::BTreeMap;

use super::trivia::{Collection, Entry, Lead, Value, commented, comments};
use crate::domain::Domain;
use crate::formula;
use crate::report::{Diagnostic, Report, Rule};
use crate::schema::{self, Key, Shape};
use crate::source::{Source, Span, Text};
use crate::unit::Unit;
use crate::yaml::{self, Node};

/// Maximum length of a line that can be broken.
pub const WIDTH: usize = 120;

/// Formats a contract. Fails only for invalid YAML; a contract with other errors is formatted as far as possible.
pub fn format(source: &Source) -> Result<String, Vec<Diagnostic>> {
    let before = tree(source)?;
    let tables = tables(&before);
    let form = Form::Contract(&tables);
    let mut printer = Printer::default();
    match commented(source, &before) {
        Value::Collection(root) if root.mapping => printer.contract(root, form),
        // A scalar or a list is not a contract, so there is nothing to format.
        _ => return Ok(source.text.clone()),
    }
    let text = printer.finish();
    let after = Source { name: source.name.clone(), text, sha256: String::new() };
    let kept = tree(&after).is_ok_and(|new| {
        let sorted = |source, tree| {
            let mut found = comments(source, tree);
            found.sort();
            found
        };
        same(&before, &new, form) && sorted(source, &before) == sorted(&after, &new)
    });
    if kept {
        return Ok(after.text);
    }
    let whole = Span { start: 0, end: source.text.lines().next().map_or(0, str::len) };
    let message = "cannot format this file without changing its meaning; it is unchanged";
    Err(vec![Diagnostic::error(whole, message).rule(Rule::File)])
}

fn tree(source: &Source) -> Result<Node, Vec<Diagnostic>> {
    let mut report = Report::new();
    let tree = yaml::tree(source, &mut report);
    let diagnostics = report.finish();
    match tree {
        Some(tree) if diagnostics.is_empty() => Ok(tree),
        _ => Err(diagnostics),
    }
}

/// The form of a value, which follows from its position.
#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    /// A mapping with these keys.
    Keys(&'static [Key]),
    /// A mapping from free names to mappings with these keys.
    Named(&'static [Key]),
    /// A list of mappings with these keys.
    List(&'static [Key]),
    /// The cases of a classifier, or one of them.
    Cases,
    /// The whole contract, with the fields of its tables.
    Contract(&'a Tables),
    /// The profile tables.
    Profiles(&'a Tables),
    /// A table.
    Table(&'a [(String, Shape)]),
    /// The rows of a table.
    Rows(&'a [(String, Shape)]),
    /// A row.
    Row(&'a [(String, Shape)]),
    /// A text without significant surrounding white space.
    Prose,
    /// A scalar, or a collection of scalars.
    Scalar(Shape),
    /// An unknown form.
    Unknown,
}

/// The fields of each profile table, each with the shape of its values.
type Tables = BTreeMap<String, Vec<(String, Shape)>>;

fn pairs(node: Option<&Node>) -> &[(Text, Node)] {
    if let Some(Node::Map(pairs, _)) = node { pairs } else { &[] }
}

fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    pairs(Some(node)).iter().find(|(name, _)| name.value == key).map(|(_, node)| node)
}

fn tables(root: &Node) -> Tables {
    let shape = |field: &Node| match child(field, "type") {
        Some(Node::Text(kind)) if kind.value == "text" => Shape::Text,
        _ => Shape::Number,
    };
    let fields = |table: &Node| {
        let columns = pairs(child(table, "fields")).iter();
        columns.map(|(name, field)| (name.value.clone(), shape(field))).collect()
    };
    pairs(child(root, "profiles")).iter().map(|(name, table)| (name.value.clone(), fields(table))).collect()
}

impl<'a> Form<'a> {
    fn from_shape(shape: Shape) -> Form<'a> {
        match shape {
            Shape::Section(keys) => Form::Keys(keys),
            Shape::Named(keys) => Form::Named(keys),
            Shape::List(keys) => Form::List(keys),
            Shape::Cases => Form::Cases,
            Shape::Text | Shape::Id | Shape::Version => Form::Prose,
            Shape::Texts | Shape::NamedTexts => Form::Scalar(Shape::Text),
            Shape::Formulas => Form::Scalar(Shape::Formula),
            Shape::Value => Form::Scalar(Shape::Number),
            Shape::Entries => Form::Unknown,
            scalar => Form::Scalar(scalar),
        }
    }

    /// The form of the value of a key, or of an item.
    fn inside(self, key: Option<&str>) -> Form<'a> {
        let of = |keys: &[Key]| {
            keys.iter()
                .find(|known| Some(known.name) == key)
                .map_or(Form::Unknown, |key| Form::from_shape(key.shape))
        };
        match self {
            Form::Contract(tables) if key == Some("profiles") => Form::Profiles(tables),
            Form::Contract(_) => of(schema::CONTRACT),
            Form::Profiles(tables) => {
                key.and_then(|key| tables.get(key)).map_or(Form::Unknown, |t| Form::Table(t))
            }
            Form::Table(fields) if key == Some("entries") => Form::Rows(fields),
            Form::Table(_) => of(schema::TABLE),
            Form::Rows(fields) => Form::Row(fields),
            Form::Row(fields) => match fields.iter().find(|(name, _)| Some(name.as_str()) == key) {
                Some((_, shape)) => Form::Scalar(*shape),
                None => of(schema::ENTRY),
            },
            Form::Keys(keys) => of(keys),
            Form::Named(keys) | Form::List(keys) => Form::Keys(keys),
            Form::Cases if key.is_some() => Form::Scalar(Shape::Formula),
            Form::Cases | Form::Prose | Form::Scalar(_) | Form::Unknown => self,
        }
    }

    /// The rank of a key among its siblings, unknown keys last; none if the author chooses the order.
    fn rank(self, key: &str) -> Option<usize> {
        let among =
            |keys: &[Key]| Some(keys.iter().position(|known| known.name == key).unwrap_or(keys.len()));
        match self {
            Form::Contract(_) => among(schema::CONTRACT),
            Form::Table(_) => among(schema::TABLE),
            Form::Keys(keys) => among(keys),
            // `doc` precedes the figures of a row, the source follows them.
            Form::Row(fields) => match fields.iter().position(|(name, _)| name == key) {
                Some(field) => Some(1 + field),
                None => among(schema::ENTRY).map(|at| if at == 0 { 0 } else { fields.len() + at }),
            },
            _ => None,
        }
    }
}

/// The entries in their canonical order.
fn ordered<'b, 'a>(collection: &'b Collection<'a>, form: Form<'_>) -> Vec<&'b Entry<'a>> {
    let mut order: Vec<&Entry<'a>> = collection.entries.iter().collect();
    order.sort_by_key(|entry| entry.key.and_then(|key| form.rank(&key.value)));
    order
}

/// A line without its end.
struct Line {
    text: String,
    trail: Option<String>,
}

#[derive(Default)]
struct Printer {
    lines: Vec<Line>,
}

fn spaces(count: usize) -> String {
    " ".repeat(count)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl Printer {
    fn contract(&mut self, mut root: Collection<'_>, form: Form<'_>) {
        let start = |entry: Option<&Entry<'_>>| entry.and_then(|entry| entry.key).map(|key| key.span);
        let first = start(root.entries.first());
        let moved = start(ordered(&root, form).first().copied()) != first;
        // Comments above the first section are about the file and stay at the top.
        if let Some(entry) = root.entries.first_mut() {
            let blank = entry.lead.iter().rposition(|lead| *lead == Lead::Blank);
            let header = if moved { blank.map_or(0, |blank| blank + 1) } else { entry.lead.len() };
            let header: Vec<Lead> = entry.lead.drain(..header).collect();
            self.lead(&header, 0);
        }
        for (index, entry) in ordered(&root, form).into_iter().enumerate() {
            if index > 0 {
                self.blank();
            }
            self.lead(&entry.lead, 0);
            self.one(entry, form, 0, String::new());
        }
        self.lead(&root.tail, 0);
    }

    fn push(&mut self, text: String, trail: Option<&str>) {
        self.lines.push(Line { text, trail: trail.map(str::to_owned) });
    }

    /// Adds an empty line unless there is one already.
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.text.is_empty()) {
            self.push(String::new(), None);
        }
    }

    fn lead(&mut self, lead: &[Lead], indent: usize) {
        for lead in lead {
            match lead {
                Lead::Blank => self.blank(),
                Lead::Comment(comment) => self.push(spaces(indent) + comment, None),
            }
        }
    }

    /// Prints the entries of a collection; `dash` starts the line of the first entry of a list item.
    fn entries(
        &mut self,
        collection: &Collection<'_>,
        form: Form<'_>,
        indent: usize,
        mut dash: Option<String>,
    ) {
        for entry in ordered(collection, form) {
            let dash = dash.take();
            self.lead(&entry.lead, dash.as_ref().map_or(indent, |dash| dash.len().saturating_sub(2)));
            self.one(entry, form, indent, dash.unwrap_or_else(|| spaces(indent)));
        }
        self.lead(&collection.tail, indent);
    }

    fn one(&mut self, entry: &Entry<'_>, form: Form<'_>, indent: usize, before: String) {
        let inside = form.inside(entry.key.map(|key| key.value.as_str()));
        let start = match entry.key {
            Some(key) => format!("{before}{}:", quoted(&key.value, false, false)),
            None => before + "-",
        };
        let (trail, below) = (entry.trail.as_deref(), indent + 2);
        match &entry.value {
            Value::Scalar(text) => self.scalar(start, text, inside, below, trail),
            Value::Collection(inner) => {
                if (inner.flow || inner.entries.is_empty()) && self.flow(&start, inner, inside, below, trail)
                {
                    return;
                }
                if entry.key.is_none() && inner.mapping {
                    self.lead(
                        &trail.map(|trail| Lead::Comment(trail.to_owned())).into_iter().collect::<Vec<_>>(),
                        indent,
                    );
                    self.entries(inner, inside, below, Some(start + " "));
                } else {
                    self.push(start, trail);
                    self.entries(inner, inside, below, None);
                }
            }
        }
    }

    fn scalar(&mut self, start: String, text: &Text, form: Form<'_>, below: usize, trail: Option<&str>) {
        let value = normal(text, form);
        if value.is_empty() {
            self.push(start + if text.plain { "" } else { " \"\"" }, trail);
            return;
        }
        let inline = inline_scalar(text, &value, form, false);
        let body = value.trim_end_matches('\n');
        let room = WIDTH.saturating_sub(below).max(20);
        let one_line = !value.contains('\n');
        if one_line && width(&start) + 1 + width(&inline) <= WIDTH {
            self.push(format!("{start} {inline}"), trail);
            return;
        }
        let ends = match value.len() - body.len() {
            0 => "-",
            1 => "",
            _ => "+",
        };
        let literal = !one_line && body.lines().all(|line| width(line) <= room) && can_be_literal(body);
        let (style, lines) = if literal {
            ("|", body.split('\n').map(str::to_owned).collect())
        } else if can_be_folded(body) {
            let formula = matches!(form, Form::Scalar(Shape::Formula));
            (">", if formula { wrapped_formula(body, room) } else { folded(body, room) })
        } else if !one_line && can_be_literal(body) {
            ("|", body.split('\n').map(str::to_owned).collect())
        } else {
            self.push(format!("{start} {inline}"), trail);
            return;
        };
        self.push(format!("{start} {style}{ends}"), trail);
        for line in lines {
            let line = if line.is_empty() { line } else { spaces(below) + &line };
            self.push(line, None);
        }
        for _ in 1..value.len() - body.len() {
            self.push(String::new(), None);
        }
    }

    /// Prints a collection in brackets; false if it needs several lines.
    fn flow(
        &mut self,
        start: &str,
        collection: &Collection<'_>,
        form: Form<'_>,
        below: usize,
        trail: Option<&str>,
    ) -> bool {
        let Some(parts) = inline_parts(collection, form) else { return false };
        let (open, close) = if collection.mapping { ('{', '}') } else { ('[', ']') };
        let whole = format!("{start} {open}{}{close}", parts.join(", "));
        if width(&whole) <= WIDTH {
            self.push(whole, trail);
            return true;
        }
        let scalars = collection.entries.iter().all(|entry| matches!(entry.value, Value::Scalar(_)));
        if collection.mapping || !scalars {
            return false;
        }
        let mut line = format!("{start} {open}");
        let last = parts.len().saturating_sub(1);
        for (index, part) in parts.into_iter().enumerate() {
            let part = part + if index < last { "," } else { "]" };
            let gap = if index == 0 || line.trim().is_empty() { "" } else { " " };
            if index > 0 && width(&line) + gap.len() + width(&part) > WIDTH {
                self.push(std::mem::replace(&mut line, spaces(below) + &part), None);
            } else {
                line += gap;
                line += &part;
            }
        }
        self.push(line, trail);
        true
    }

    /// Returns the text with the trailing comments of adjacent lines aligned.
    fn finish(self) -> String {
        /// Maximum column of aligned comments.
        const FAR: usize = 80;
        let mut out = String::new();
        let lines = self.lines;
        let mut column = 0;
        for (index, line) in lines.iter().enumerate() {
            let Some(trail) = &line.trail else {
                out += line.text.trim_end();
                out.push('\n');
                continue;
            };
            if index == 0 || lines[index - 1].trail.is_none() {
                let run = lines[index..].iter().take_while(|line| line.trail.is_some());
                column = run.map(|line| width(&line.text)).filter(|width| *width <= FAR).max().unwrap_or(0);
            }
            let gap = column.saturating_sub(width(&line.text)) + 2;
            out += &format!("{}{}{trail}\n", line.text, spaces(gap));
        }
        out
    }
}

/// The entries of a collection for brackets; none if one of them needs its own line.
fn inline_parts(collection: &Collection<'_>, form: Form<'_>) -> Option<Vec<String>> {
    let part = |entry: &&Entry<'_>| {
        let inside = form.inside(entry.key.map(|key| key.value.as_str()));
        let value = match &entry.value {
            Value::Scalar(text) => {
                let value = normal(text, inside);
                if value.contains('\n') || (value.is_empty() && text.plain) {
                    return None;
                }
                inline_scalar(text, &value, inside, true)
            }
            Value::Collection(inner) => {
                let parts = inline_parts(inner, inside)?.join(", ");
                if inner.mapping { format!("{{{parts}}}") } else { format!("[{parts}]") }
            }
        };
        Some(match entry.key {
            Some(key) => format!("{}: {value}", quoted(&key.value, true, false)),
            None => value,
        })
    };
    ordered(collection, form).iter().map(part).collect()
}

/// The canonical spelling of a scalar.
fn normal(text: &Text, form: Form<'_>) -> String {
    let value = text.value.as_str();
    let spelled = match form {
        Form::Prose => Some(value.trim().to_owned()),
        Form::Scalar(Shape::Formula) => formula::respace(text),
        Form::Scalar(Shape::Unit) => Some(unit(value)),
        Form::Scalar(Shape::Domain) => Some(domain(value)),
        Form::Scalar(Shape::Number) => Some(value.split_whitespace().collect::<Vec<_>>().join(" ")),
        _ => None,
    };
    spelled.unwrap_or_else(|| value.to_owned())
}

/// A unit without white space, in ASCII.
fn unit(value: &str) -> String {
    let short: String = value.chars().filter(|c| !c.is_whitespace()).map(ascii).collect();
    match (Unit::parse(value), Unit::parse(&short)) {
        (Ok(before), Ok(after)) if before == after => short,
        _ => value.to_owned(),
    }
}

fn ascii(character: char) -> char {
    match character {
        '·' | '×' => '*',
        '÷' => '/',
        other => other,
    }
}

/// A domain with normalized white space, in ASCII.
fn domain(value: &str) -> String {
    let mut out = String::new();
    for character in value.replace('≥', ">=").replace('≤', "<=").chars().filter(|c| !c.is_whitespace()) {
        let before = out.chars().next_back();
        let after_sign = matches!(before, Some('>' | '<' | '=')) && character != '=';
        let after_word = out == "integer" && character != 'i';
        if matches!(before, Some(',')) || after_sign || after_word {
            out.push(' ');
        }
        out.push(character);
    }
    match (Domain::parse(value), Domain::parse(&out)) {
        (Ok(before), Ok(after)) if before.same_values(&after) => out,
        _ => value.to_owned(),
    }
}

/// A scalar on one line, quoted only if necessary.
fn inline_scalar(text: &Text, value: &str, form: Form<'_>, flow: bool) -> String {
    let another_type = match form {
        Form::Prose | Form::Scalar(Shape::Text | Shape::Unit | Shape::Domain | Shape::Formula) => {
            looks_typed(value)
        }
        Form::Scalar(Shape::Flag) | Form::Unknown => !text.plain && looks_typed(value),
        _ => false,
    };
    quoted(value, flow, another_type)
}

/// True if YAML parsers may read the plain text as a number, a boolean or null.
fn looks_typed(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let words =
        ["true", "false", "null", "~", "yes", "no", "on", "off", "y", "n", ".inf", "-.inf", "+.inf", ".nan"];
    let digits = value.trim_start_matches(['-', '+']);
    let number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && (digits.parse::<f64>().is_ok() || digits.starts_with("0x") || digits.starts_with("0o"));
    words.contains(&lower.as_str()) || number
}

/// A text on one line: plain if possible and not forced, otherwise in double quotes unless it contains some.
pub(super) fn quoted(value: &str, flow: bool, force: bool) -> String {
    if !force && can_be_plain(value, flow) {
        return value.to_owned();
    }
    let control =
        value.chars().any(|c| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'));
    if value.contains(['"', '\\']) && !control {
        return format!("'{}'", value.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\r' => out += "\\r",
            c if c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out += &format!("\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

fn can_be_plain(value: &str, flow: bool) -> bool {
    let mut characters = value.chars();
    let (Some(first), second) = (characters.next(), characters.next()) else { return false };
    let starts = match first {
        '-' | '?' | ':' => !second.is_none_or(|c| c.is_whitespace() || (flow && ",[]{}".contains(c))),
        c => !c.is_whitespace() && !",[]{}#&*!|>'\"%@`".contains(c),
    };
    let special = |c: char| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    let breaks_flow = flow && value.contains([',', '[', ']', '{', '}']);
    let breaks = value.ends_with([':', ' ']) || [": ", " #"].iter().any(|part| value.contains(part));
    let marks = ["---", "..."].iter().any(|mark| value.starts_with(mark));
    starts && !breaks && !breaks_flow && !marks && !value.contains(special)
}

/// A block scalar that starts with white space would need an indentation indicator.
fn can_be_literal(body: &str) -> bool {
    !body.starts_with([' ', '\n', '\t'])
        && !body.contains(|c: char| c.is_control() && c != '\n')
        && !body.is_empty()
}

/// Folding keeps only single spaces and does not join lines that start with a space.
fn can_be_folded(body: &str) -> bool {
    can_be_literal(body)
        && body.split('\n').all(|line| !line.starts_with(' ') && !line.ends_with(' ') && !line.contains("  "))
}

/// The lines of a folded text, with an empty line for each line break.
fn folded(body: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, paragraph) in body.split('\n').enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        if !paragraph.is_empty() {
            lines.extend(wrapped(paragraph, room));
        }
    }
    lines
}

/// Wraps a text at spaces to lines of at most `room` characters.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if width(line) + 1 + width(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Wraps a formula at readable places: before words such as `and`, after commas and before operators, preferably
/// outside parentheses.
fn wrapped_formula(text: &str, room: usize) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < words.len() {
        let mut length = 0;
        let mut depth = 0;
        let mut best = (usize::MAX, words.len());
        for (at, word) in words.iter().enumerate().skip(start) {
            if at > start && length <= room {
                let cost = 20 * (break_cost(words[at - 1], word) + depth) + (room - length);
                // For equal costs, the later break fills the line better.
                if cost <= best.0 {
                    best = (cost, at);
                }
            }
            depth = (depth + word.matches('(').count()).saturating_sub(word.matches(')').count());
            length += width(word) + usize::from(at > start);
        }
        let end = if length <= room { words.len() } else { best.1 };
        lines.push(words[start..end].join(" "));
        start = end;
    }
    lines
}

/// The cost of a line break between two words of a formula.
fn break_cost(before: &str, after: &str) -> usize {
    let operator =
        |word: &str| matches!(word, "+" | "-" | "*" | "/" | "=" | "==" | "!=" | "<" | "<=" | ">" | ">=");
    let joins = |word: &str| matches!(word, "and" | "or" | "implies" | "iff" | "then" | "else");
    match after {
        _ if joins(after) => 0,
        _ if after.starts_with('[')
            || joins(before)
            || before.ends_with(':')
            || before == "not"
            || before == "if" =>
        {
            9
        }
        _ if before.ends_with(',') => 1,
        "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" => 2,
        _ if operator(after) => 3,
        _ if operator(before) => 6,
        _ => 5,
    }
}

/// True if two trees have the same meaning, up to the order of keys and the spelling of formulas, units and
/// domains.
fn same(a: &Node, b: &Node, form: Form<'_>) -> bool {
    match (a, b) {
        (Node::Text(a), Node::Text(b)) => {
            let equal = a.value == b.value;
            match form {
                _ if a.value.is_empty() || b.value.is_empty() => equal && a.plain == b.plain,
                Form::Prose => a.value.trim() == b.value.trim(),
                Form::Scalar(Shape::Formula) => equal || formula::same_tokens(a, b),
                Form::Scalar(Shape::Unit) => equal || same_ok(Unit::parse(&a.value), Unit::parse(&b.value)),
                Form::Scalar(Shape::Domain) => {
                    let parsed = (Domain::parse(&a.value), Domain::parse(&b.value));
                    equal || matches!(parsed, (Ok(a), Ok(b)) if a.same_values(&b))
                }
                Form::Scalar(Shape::Number) => a.value.split_whitespace().eq(b.value.split_whitespace()),
                Form::Scalar(Shape::Flag) => equal && a.plain == b.plain,
                _ => equal,
            }
        }
        (Node::List(a, _), Node::List(b, _)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, form.inside(None)))
        }
        (Node::Map(a, _), Node::Map(b, _)) => {
            let order = |pairs: &[(Text, Node)]| {
                let mut order: Vec<usize> = (0..pairs.len()).collect();
                order.sort_by_key(|&at| form.rank(&pairs[at].0.value).map(|rank| (rank, &pairs[at].0.value)));
                order
            };
            a.len() == b.len()
                && order(a).into_iter().zip(order(b)).all(|(i, j)| {
                    let ((key, a), (other, b)) = (&a[i], &b[j]);
                    key.value == other.value && same(a, b, form.inside(Some(&key.value)))
                })
        }
        _ => false,
    }
}

fn same_ok<T: PartialEq, E>(a: Result<T, E>, b: Result<T, E>) -> bool {
    matches!((a, b), (Ok(a), Ok(b)) if a == b)
}
