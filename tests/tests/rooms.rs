//! The rooms of the house as `docs/ARCHITECTURE.md` draws them, beside the imports that the sources really have.
//!
//! A room is a module right below a crate's root, and below `program` one of its own. Tests may look anywhere, so what
//! stands under `#[cfg(test)]` does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Rooms, and for each those it imports from.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// The modules of one crate, by path, except those for tests.
struct Crate {
    modules: BTreeMap<Vec<String>, TokenStream>,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

impl Crate {
    fn read(name: &str) -> Crate {
        let mut found = Crate { modules: BTreeMap::new() };
        found.add(&workspace().join(name).join("src"), "lib", Vec::new());
        found
    }

    /// Adds a module and those it declares.
    fn add(&mut self, directory: &Path, file: &str, path: Vec<String>) {
        let flat = directory.join(format!("{file}.rs"));
        let (own, children) = match path.is_empty() {
            true => (flat, directory.to_owned()),
            false if flat.exists() => (flat, directory.join(file)),
            false => (directory.join(file).join("mod.rs"), directory.join(file)),
        };
        let text = std::fs::read_to_string(&own).unwrap_or_else(|error| panic!("{}: {error}", own.display()));
        let tokens = without_tests(text.parse().unwrap_or_else(|error| panic!("{}: {error}", own.display())));
        let flat: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for window in flat.windows(3) {
            if let [TokenTree::Ident(keyword), TokenTree::Ident(child), TokenTree::Punct(end)] = window
                && keyword == "mod"
                && end.as_char() == ';'
            {
                let child = child.to_string();
                self.add(&children, &child, [path.clone(), vec![child.clone()]].concat());
            }
        }
        self.modules.insert(path, tokens);
    }

    /// The room of a path; none for the root, which only lists the others.
    fn room(&self, path: &[String]) -> Option<String> {
        let inside = |depth: usize| path.get(..depth).filter(|path| self.modules.contains_key(*path));
        let room = match path.first()?.as_str() {
            "program" => inside(2).or_else(|| inside(1)),
            _ => inside(1),
        };
        room.map(|room| room.join("::"))
    }

    /// Every room and those it imports from. A name that the root itself has is an error: it hides where the thing lives.
    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (module, tokens) in &self.modules {
            let Some(room) = self.room(module) else { continue };
            let uses = edges.entry(room.clone()).or_default();
            let mut paths = Vec::new();
            self.paths(module, tokens.clone(), &mut paths);
            for path in paths {
                if let [other, ..] = &path[..]
                    && OTHER_CRATES.contains(&other.as_str())
                {
                    uses.insert(other.clone());
                    continue;
                }
                let other = self.room(&path).unwrap_or_else(|| {
                    panic!("{} uses `crate::{}`, which is no module", module.join("::"), path.join("::"))
                });
                if other != room {
                    uses.insert(other);
                }
            }
        }
        edges
    }

    /// Every path in a module's text that leads to a module of the crate, from the crate's root.
    fn paths(&self, module: &[String], tokens: TokenStream, found: &mut Vec<Vec<String>>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let word = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(word)) => Some(word.to_string()),
            _ => None,
        };
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                let inline =
                    (at >= 2 && word(at - 2).as_deref() == Some("mod")).then(|| word(at - 1)).flatten();
                let inner: Vec<String> = module.iter().cloned().chain(inline).collect();
                self.paths(&inner, group.stream(), found);
            }
            let after_colons = at >= 2 && is_colons(&tokens, at - 2);
            if let Some(first) = word(at)
                && is_colons(&tokens, at + 1)
                && !after_colons
            {
                let child = [module, std::slice::from_ref(&first)].concat();
                let base = match first.as_str() {
                    "crate" => Some(Vec::new()),
                    "self" => Some(module.to_vec()),
                    "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
                    other if OTHER_CRATES.contains(&other) => Some(vec![first]),
                    _ => self.modules.contains_key(&child).then_some(child),
                };
                if let Some(base) = base {
                    expand(base, &tokens[at + 3..], found);
                }
            }
            at += 1;
        }
    }
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// The paths that begin with `base` and go on with these tokens: one, or one for each branch of a `{...}`.
fn expand(base: Vec<String>, tokens: &[TokenTree], found: &mut Vec<Vec<String>>) {
    match tokens.first() {
        Some(TokenTree::Ident(word)) => {
            let mut path = base;
            match word.to_string().as_str() {
                "super" => drop(path.pop()),
                "self" => {}
                word => path.push(word.to_owned()),
            }
            match is_colons(tokens, 1) {
                true => expand(path, &tokens[3..], found),
                false => found.push(path),
            }
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
            for branch in inner.split(comma).filter(|branch| !branch.is_empty()) {
                expand(base.clone(), branch, found);
            }
        }
        _ => found.push(base),
    }
}

/// The text without what stands under `#[cfg(test)]`.
fn without_tests(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let attribute = |at: usize| match (tokens.get(at), tokens.get(at + 1)) {
        (Some(TokenTree::Punct(mark)), Some(TokenTree::Group(group))) if mark.as_char() == '#' => {
            Some(group.stream().to_string().replace(' ', ""))
        }
        _ => None,
    };
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if attribute(at).is_some_and(|text| text == "cfg(test)") {
            // The item ends with its block or with a semicolon.
            at += 2;
            let ends = |token: &TokenTree| match token {
                TokenTree::Punct(mark) => mark.as_char() == ';',
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                _ => false,
            };
            at += tokens[at..].iter().position(ends).map_or(tokens.len(), |end| end + 1);
            continue;
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept.into_iter().collect()
}

/// The crates of this workspace that a crate may import from, as sources name them.
const OTHER_CRATES: [&str; 2] = ["roofline_contracts", "roofline_macros"];

/// A cycle of imports, if there is one: the rooms on the way, the first again at the end.
fn cycle(edges: &Edges) -> Option<Vec<String>> {
    fn visit(room: &str, edges: &Edges, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        if let Some(start) = way.iter().position(|before| before == room) {
            way.drain(..start);
            way.push(room.to_owned());
            return true;
        }
        if done.contains(room) {
            return false;
        }
        way.push(room.to_owned());
        if edges.get(room).into_iter().flatten().any(|next| visit(next, edges, way, done)) {
            return true;
        }
        way.pop();
        done.insert(room.to_owned());
        false
    }
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    edges.keys().any(|room| visit(room, edges, &mut way, &mut done)).then_some(way)
}

/// Without the imports that follow from others: `a` from `c`, where `a` imports from `b` and `b` from `c`.
fn reduced(edges: &Edges) -> Edges {
    let reaches = |from: &str, to: &str| {
        let mut pending = vec![from];
        let mut seen = BTreeSet::new();
        while let Some(room) = pending.pop() {
            if room == to {
                return true;
            }
            if seen.insert(room) {
                pending.extend(edges.get(room).into_iter().flatten().map(String::as_str));
            }
        }
        false
    };
    let direct = |uses: &BTreeSet<String>| {
        let follows = |to: &String| uses.iter().any(|other| other != to && reaches(other, to));
        uses.iter().filter(|to| !follows(to)).cloned().collect()
    };
    edges.iter().map(|(room, uses)| (room.clone(), direct(uses))).collect()
}

/// The drawing that follows `heading`: the rooms that have a label, and the arrows, each from a room to one that imports
/// from it.
struct Drawing {
    labelled: BTreeSet<String>,
    arrows: BTreeSet<(String, String)>,
}

fn block<'a>(document: &'a str, heading: &str) -> &'a str {
    let section = document.split_once(heading).unwrap_or_else(|| panic!("no `{heading}`")).1;
    let drawing = section.split_once("```mermaid\n").expect("a drawing").1;
    drawing.split_once("```").expect("the end of the drawing").0
}

impl Drawing {
    fn read(block: &str) -> Drawing {
        let mut drawing = Drawing { labelled: BTreeSet::new(), arrows: BTreeSet::new() };
        for line in block.lines().map(str::trim) {
            if let Some((from, to)) = line.split_once(" --> ") {
                drawing.arrows.insert((from.to_owned(), to.to_owned()));
            } else if let Some((room, _)) = line.split_once('[') {
                drawing.labelled.insert(room.to_owned());
            }
        }
        drawing
    }
}

/// Compares the drawing after a heading with the real imports; with `UPDATE_DOCS=1` draws the arrows anew.
fn compare(heading: &str, edges: &Edges) {
    // The tests of this file share the document and may write it.
    static DOCUMENT: Mutex<()> = Mutex::new(());
    let _one_at_a_time = DOCUMENT.lock().unwrap_or_else(PoisonError::into_inner);
    let file = workspace().join("docs/ARCHITECTURE.md");
    let document = std::fs::read_to_string(&file).unwrap();
    let drawn = block(&document, heading);
    let arrows: BTreeSet<(String, String)> =
        edges.iter().flat_map(|(room, uses)| uses.iter().map(|from| (from.clone(), room.clone()))).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let kept = drawn.lines().filter(|line| !line.contains(" --> ")).map(str::to_owned);
        let new = arrows.iter().map(|(from, to)| format!("    {from} --> {to}"));
        let new: String = kept.chain(new).map(|line| line + "\n").collect();
        std::fs::write(&file, document.replacen(drawn, &new, 1)).unwrap();
    }
    let document = std::fs::read_to_string(&file).unwrap();
    let drawing = Drawing::read(block(&document, heading));
    let rooms: BTreeSet<String> =
        arrows.iter().flat_map(|(from, to)| [from, to]).chain(edges.keys()).cloned().collect();
    let hint = "`UPDATE_DOCS=1 cargo test -p roofline-tests --test rooms` draws the arrows anew";
    let missing: Vec<_> = arrows.difference(&drawing.arrows).collect();
    let unreal: Vec<_> = drawing.arrows.difference(&arrows).collect();
    assert!(missing.is_empty(), "{heading}: not drawn: {missing:?}; {hint}");
    assert!(unreal.is_empty(), "{heading}: drawn, but no import: {unreal:?}; {hint}");
    assert_eq!(drawing.labelled, rooms, "{heading}: each room has a line with its name and what it is for");
}

#[test]
fn the_compiler_is_a_list_of_stages_as_drawn() {
    let edges = Crate::read("contracts").edges();
    assert_eq!(cycle(&edges), None, "a cycle of imports");
    compare("## The rooms of the compiler", &reduced(&edges));
}

#[test]
fn the_rooms_of_the_library_are_as_drawn() {
    let mut edges = Edges::new();
    for (room, uses) in Crate::read("roofline").edges() {
        let top = |room: &str| room.split("::").next().unwrap_or_default().to_owned();
        let uses = uses.iter().map(|other| top(other)).filter(|other| *other != top(&room));
        edges.entry(top(&room)).or_default().extend(uses);
    }
    assert_eq!(cycle(&edges), None, "a cycle of imports");
    compare("## The rooms of the library", &reduced(&edges));
}

#[test]
fn the_rooms_of_the_program_are_as_drawn() {
    let inside =
        |room: &str| room.strip_prefix("program").map(|room| room.trim_start_matches("::").to_owned());
    let mut edges = Edges::new();
    for (room, uses) in Crate::read("roofline").edges() {
        let Some(room) = inside(&room) else { continue };
        edges.entry(room).or_default().extend(uses.iter().filter_map(|other| inside(other)));
    }
    // The module itself is where the program starts and where its words are, so every room and it know each other.
    edges.remove("");
    edges.values_mut().for_each(|uses| uses.retain(|other| !other.is_empty()));
    compare("## The rooms of the program", &edges);
}

/// The check itself can fail: a small crate with everything that it should see and should not.
#[test]
fn imports_are_found_however_they_are_written_and_tests_do_not_count() {
    let module = |path: &str, text: &str| {
        let path: Vec<String> = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        (path, without_tests(text.parse().unwrap()))
    };
    let found = Crate {
        modules: BTreeMap::from([
            module("", "mod a; mod b; mod c; mod d; mod e; mod program;"),
            module("a", "use crate::{b::{self, X}, c::Y}; #[cfg(test)] mod tests { use crate::d::Z; }"),
            module(
                "a::inner",
                "/// crate::d::Z\nfn f() { let text = \"crate::d\"; super::super::e::g(); super::own(); }",
            ),
            module("b", "mod inline { fn f() { super::super::c::g!(); } } #[cfg(test)] use crate::a::T;"),
            module("c", "fn f() { vec![crate::d::one()] }"),
            module("d", "use std::fmt; use other::a::b;"),
            module("e", ""),
            module("program", "fn f() { room::g(); }"),
            module("program::room", "use super::other::X; use crate::program::Failure;"),
            module("program::other", ""),
        ]),
    };
    let edges = found.edges();
    let uses = |room: &str| edges[room].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(uses("a"), ["b", "c", "e"]);
    assert_eq!(uses("b"), ["c"]);
    assert_eq!(uses("c"), ["d"]);
    assert!(uses("d").is_empty() && uses("e").is_empty());
    assert_eq!(uses("program"), ["program::room"]);
    assert_eq!(uses("program::room"), ["program", "program::other"]);
    assert_eq!(cycle(&edges), Some(["program", "program::room", "program"].map(str::to_owned).to_vec()));
    let shorter = reduced(&edges);
    assert_eq!(shorter["a"].iter().collect::<Vec<_>>(), ["b", "e"]);
}
