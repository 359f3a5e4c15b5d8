//! A YAML tree with its comments, each attached to an entry, so that it moves with the entry.

use crate::source::{Source, Span, Text};
use crate::yaml::Node;

/// Comments and blank lines before an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    /// An empty line; several count as one.
    Blank,
    /// A comment, from `#` to the end of its line.
    Comment(String),
}

/// A key with its value, or an item of a list.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The key; none in a list.
    pub key: Option<&'a Text>,
    /// The value.
    pub value: Value<'a>,
    /// The trivia before it.
    pub lead: Vec<Lead>,
    /// The comment at the end of its line.
    pub trail: Option<String>,
    start: usize,
    column: usize,
}

/// A value.
#[derive(Debug)]
pub enum Value<'a> {
    /// A scalar.
    Scalar(&'a Text),
    /// A list or a mapping.
    Collection(Collection<'a>),
}

/// A list or a mapping.
#[derive(Debug)]
pub struct Collection<'a> {
    /// True if it has keys.
    pub mapping: bool,
    /// True if it is written in brackets.
    pub flow: bool,
    /// Its contents in source order.
    pub entries: Vec<Entry<'a>>,
    /// Comments after the last entry.
    pub tail: Vec<Lead>,
    span: Span,
}

/// A comment and its place.
#[derive(Clone, Debug)]
struct Comment {
    at: usize,
    text: String,
}

/// The comments of a text, in source order. A `#` inside a scalar is not a comment.
pub fn comments(source: &Source, root: &Node) -> Vec<String> {
    find(source, root).into_iter().map(|comment| comment.text).collect()
}

fn find(source: &Source, root: &Node) -> Vec<Comment> {
    let text = source.text.as_str();
    let mut scalars: Vec<(usize, usize)> = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        match node {
            Node::List(items, _) => pending.extend(items),
            Node::Map(pairs, _) => {
                for (key, value) in pairs {
                    scalars.push((key.span.start, key.span.end));
                    pending.push(value);
                }
            }
            Node::Text(scalar) => scalars.push((scalar.span.start, scalar.span.end)),
        }
    }
    scalars.sort_unstable();
    let mut found: Vec<Comment> = Vec::new();
    let mut at = 0;
    for (start, end) in scalars.into_iter().chain([(text.len(), text.len())]) {
        gap(text, at, start.max(at), &mut found);
        at = end.max(at);
    }
    found
}

/// The comments between two scalars.
fn gap(text: &str, start: usize, end: usize, found: &mut Vec<Comment>) {
    let mut at = start;
    while let Some(next) = text[at..end].find('#') {
        at += next;
        let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        found.push(Comment { at, text: text[at..line_end].trim_end().to_owned() });
        at = line_end.min(end);
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn column(text: &str, at: usize) -> usize {
    text[line_start(text, at)..at].chars().count()
}

/// True if the line before this place is empty.
fn blank_before(text: &str, at: usize) -> bool {
    let before = &text[..line_start(text, at)];
    before.strip_suffix('\n').is_some_and(|before| {
        let line = &before[line_start(before, before.len())..];
        line.trim().is_empty()
    })
}

/// Attaches the comments to the tree. The root of a contract is a collection; a single scalar has no movable
/// comments.
pub fn commented<'a>(source: &'a Source, root: &'a Node) -> Value<'a> {
    let text = source.text.as_str();
    let comments = find(source, root);
    let mut value = build(text, root, &comments);
    if let Value::Collection(root) = &mut value {
        for comment in comments {
            root.hang(text, comment);
        }
        root.mark_blanks(text);
    }
    value
}

fn build<'a>(text: &str, node: &'a Node, comments: &[Comment]) -> Value<'a> {
    let (mapping, span, entries) = match node {
        Node::Text(scalar) => return Value::Scalar(scalar),
        Node::List(items, span) => {
            let indent = column(text, span.start);
            let entries = items.iter().map(|item| {
                let start = if is_flow(text, *span) {
                    item.span().start
                } else {
                    dash(text, item.span().start, indent)
                };
                entry(None, build(text, item, comments), start, indent)
            });
            (false, *span, entries.collect())
        }
        Node::Map(pairs, span) => {
            let entries = pairs.iter().map(|(key, value)| {
                let start = key.span.start;
                entry(Some(key), build(text, value, comments), start, column(text, start))
            });
            (true, *span, entries.collect())
        }
    };
    let inside = comments.partition_point(|comment| comment.at < span.start);
    // A collection with comments needs several lines.
    let flow = is_flow(text, span) && comments.get(inside).is_none_or(|comment| comment.at >= span.end);
    Value::Collection(Collection { mapping, flow, entries, tail: Vec::new(), span })
}

fn is_flow(text: &str, span: Span) -> bool {
    matches!(text.as_bytes().get(span.start), Some(b'{' | b'['))
}

/// The dash of an item in this column, on the line of its value or above.
fn dash(text: &str, value: usize, column: usize) -> usize {
    let mut start = line_start(text, value);
    loop {
        let dash = text[start..value].char_indices().nth(column).filter(|(_, character)| *character == '-');
        match dash {
            Some((offset, _)) if text[start..start + offset].trim_matches([' ', '-']).is_empty() => {
                return start + offset;
            }
            _ if start == 0 => return value,
            _ => start = line_start(text, start - 1),
        }
    }
}

fn entry<'a>(key: Option<&'a Text>, value: Value<'a>, start: usize, column: usize) -> Entry<'a> {
    Entry { key, value, lead: Vec::new(), trail: None, start, column }
}

impl<'a> Collection<'a> {
    fn hang(&mut self, text: &str, comment: Comment) {
        let before = text[line_start(text, comment.at)..comment.at].trim();
        // A comment after a lone dash is about the following item.
        if !before.is_empty() && !before.chars().all(|c| c == '-' || c == ' ') {
            self.hang_behind(comment);
            return;
        }
        let mut lead = Vec::new();
        if before.is_empty() && blank_before(text, comment.at) {
            lead.push(Lead::Blank);
        }
        let column = column(text, comment.at);
        let at = comment.at;
        lead.push(Lead::Comment(comment.text));
        match self.next(at) {
            Some(next) if column <= next => self.lead_next(at, lead),
            _ => self.close(at, column, lead),
        }
    }

    fn started(&self, at: usize) -> usize {
        self.entries.partition_point(|entry| entry.start <= at)
    }

    /// Attaches a trailing comment to the entry of its line.
    fn hang_behind(&mut self, comment: Comment) {
        let started = self.started(comment.at);
        let Some(entry) = started.checked_sub(1).and_then(|last| self.entries.get_mut(last)) else {
            self.tail.push(Lead::Comment(comment.text));
            return;
        };
        match &mut entry.value {
            Value::Collection(inner)
                if !(inner.flow && inner.span.end <= comment.at) && inner.started(comment.at) > 0 =>
            {
                inner.hang_behind(comment);
            }
            _ if entry.trail.is_none() => entry.trail = Some(comment.text),
            _ => entry.lead.push(Lead::Comment(comment.text)),
        }
    }

    /// The column of the next entry.
    fn next(&self, at: usize) -> Option<usize> {
        let started = self.started(at);
        let inside = started.checked_sub(1).and_then(|last| match &self.entries[last].value {
            Value::Collection(inner) => inner.next(at),
            Value::Scalar(_) => None,
        });
        inside.or_else(|| self.entries.get(started).map(|entry| entry.column))
    }

    /// Attaches the lines to the next entry.
    fn lead_next(&mut self, at: usize, mut lead: Vec<Lead>) {
        let started = self.started(at);
        if let Some(Entry { value: Value::Collection(inner), .. }) =
            started.checked_sub(1).and_then(|last| self.entries.get_mut(last))
            && inner.next(at).is_some()
        {
            inner.lead_next(at, lead);
        } else if let Some(next) = self.entries.get_mut(started) {
            next.lead.append(&mut lead);
        }
    }

    /// Attaches the lines to the innermost collection with at most their indentation.
    fn close(&mut self, at: usize, column: usize, mut lead: Vec<Lead>) {
        let started = self.started(at);
        let last = started.checked_sub(1).and_then(|last| self.entries.get_mut(last));
        if let Some(Entry { value: Value::Collection(inner), .. }) = last
            && !inner.flow
            && inner.entries.first().is_some_and(|first| first.column <= column)
        {
            inner.close(at, column, lead);
        } else if let Some(next) = self.entries.get_mut(started) {
            next.lead.append(&mut lead);
        } else {
            self.tail.append(&mut lead);
        }
    }

    fn mark_blanks(&mut self, text: &str) {
        if self.flow {
            return;
        }
        for entry in &mut self.entries {
            if blank_before(text, entry.start) {
                entry.lead.push(Lead::Blank);
            }
            if let Value::Collection(inner) = &mut entry.value {
                // The first entry of an item is on the line of the dash.
                inner.mark_blanks(text);
            }
        }
        if let Some(first) = self.entries.first_mut() {
            let blanks = first.lead.iter().take_while(|lead| **lead == Lead::Blank).count();
            first.lead.drain(..blanks);
        }
    }
}
