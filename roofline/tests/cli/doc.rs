//! `roofline doc` as its users run it, and the documentation of the shipped contracts in `docs/contracts`.

use std::path::Path;
use std::process::Command;

use crate::program::{SAMPLE, err, file, printed, run};
use crate::scratch;

/// The documentation of a contract.
fn doc(arguments: &[&str]) -> String {
    printed(&[&["doc"], arguments].concat())
}

/// `UPDATE_DOCS=1` writes the pages anew instead of comparing.
#[test]
fn the_documentation_of_the_shipped_contracts_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut expected: Vec<String> = Vec::new();
    for (file, _) in roofline_contracts::library::BUILT_IN {
        let name = file.trim_end_matches(".yaml");
        let page = root.join("docs/contracts").join(format!("{name}.md"));
        let anew = doc(&[root.join("contracts").join(file).to_str().expect("UTF-8")]);
        if update {
            std::fs::write(&page, anew).expect("written");
        } else {
            let there = std::fs::read_to_string(&page).unwrap_or_default();
            assert!(
                there == anew,
                "{} is stale: UPDATE_DOCS=1 cargo test -p roofline --test cli doc writes it anew",
                page.display()
            );
        }
        expected.push(format!("{name}.md"));
    }
    let pages = std::fs::read_dir(root.join("docs/contracts")).expect("read");
    for page in pages {
        let name = page.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(expected.contains(&name), "docs/contracts/{name} belongs to no contract");
    }
}

#[test]
fn a_contract_with_one_of_everything_reads_well_in_each_format() {
    insta::assert_snapshot!("sample_markdown", doc(&[SAMPLE]));
    insta::assert_snapshot!("sample_html", doc(&[SAMPLE, "--format", "html"]));
    insta::assert_snapshot!("sample_latex", doc(&[SAMPLE, "--format", "latex"]));
}

/// Texts that mean something to each of the formats.
fn hostile(name: &str) -> String {
    let text = std::fs::read_to_string(SAMPLE).expect("read");
    let nasty = r#"'<script>alert(1)</script> & "x" \\end{document} $1_2^3 `c` | %~#{} *b* [l](u)'"#;
    let text = text.replace("doc: Bytes that are moved.", &format!("doc: {nasty}"));
    let text = text.replace("description: A sample", &format!("description: {nasty}"));
    let text = text.replace("source: data sheet", &format!("source: {nasty}"));
    file(name, text)
}

#[test]
fn no_text_of_a_contract_becomes_markup() {
    let path = hostile("markup.yaml");
    let html = doc(&[&path, "--format", "html"]);
    assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"), "{html}");
    let latex = doc(&[&path, "--format", "latex"]);
    assert_eq!(latex.matches("\\end{document}").count(), 1, "{latex}");
    let markdown = doc(&[&path]);
    assert!(!markdown.contains("<script>") && markdown.contains("\\<script\\>"), "{markdown}");
}

/// Tags are closed in the order in which they were opened, and nothing is fetched.
#[test]
fn the_html_is_well_formed_and_needs_nothing_else() {
    let path = hostile("html.yaml");
    for contract in [path.as_str(), "transformer-v1", "layer-roofline-v1", "hardware-v1"] {
        let html = doc(&[contract, "--format", "html"]);
        let mut open: Vec<String> = Vec::new();
        let mut rest = html.trim_start_matches("<!doctype html>");
        while let Some(at) = rest.find('<') {
            let end = rest[at..].find('>').expect("a tag ends") + at;
            let tag = &rest[at + 1..end];
            let name: String =
                tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(!name.is_empty(), "{contract}: `<{tag}>`");
            if tag.starts_with('/') {
                assert_eq!(open.pop().as_deref(), Some(name.as_str()), "{contract}");
            } else if !tag.ends_with('/') && name != "meta" {
                open.push(name);
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{contract}: {open:?}");
        assert!(html.contains("<math display=\"block\">") && html.contains("<svg class=\"graph\""));
        for part in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!html.contains(part), "{contract}: {part}");
        }
    }
}

/// Braces match, every environment ends, and math mode is left again.
#[test]
fn the_latex_is_well_formed() {
    let path = hostile("latex.yaml");
    let all = roofline_contracts::library::BUILT_IN.iter().map(|(file, _)| *file);
    for contract in all.chain([path.as_str()]) {
        let latex = doc(&[contract, "--format", "latex"]);
        let mut depth = 0i64;
        let mut escaped = false;
        for c in latex.chars() {
            match c {
                _ if escaped => {}
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            assert!(depth >= 0, "{contract}");
            escaped = c == '\\' && !escaped;
        }
        assert_eq!(depth, 0, "{contract}");
        for name in ["document", "longtable", "itemize", "cases"] {
            let count = |word: &str| latex.matches(&format!("\\{word}{{{name}}}")).count();
            assert_eq!(count("begin"), count("end"), "{contract}: {name}");
        }
        assert_eq!(latex.matches("\\[ ").count(), latex.matches(" \\]\n").count(), "{contract}");
        assert_eq!(latex.matches("\\left").count(), latex.matches("\\right").count(), "{contract}");
    }
}

/// Where a TeX is at hand, it reads every page.
#[test]
fn the_latex_compiles_where_there_is_a_tex() {
    if Command::new("pdflatex").arg("--version").output().is_err() {
        eprintln!("pdflatex: not run: it is not on the PATH");
        return;
    }
    let latex = doc(&["transformer-v1", "--format", "latex"]);
    let directory = scratch::files("latex", &[("transformer.tex", latex.as_bytes())]);
    let mut run = Command::new("pdflatex");
    run.current_dir(directory).args(["-interaction=nonstopmode", "-halt-on-error", "transformer.tex"]);
    let output = run.output().expect("pdflatex runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_verdict_that_is_not_proven_is_shown_with_its_inputs() {
    let text =
        std::fs::read_to_string(SAMPLE).expect("read").replace("formal: rate > 0", "formal: rate > 1 [1/s]");
    let page = doc(&[&file("refuted.yaml", text)]);
    assert!(page.contains("| `rate-positive` | `rate > 1 [1/s]` | refuted |"), "{page}");
    assert!(page.contains("bytes = "), "{page}");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let directory = scratch::directory("doc-page");
    let page = directory.join("page.html");
    let to = page.to_str().expect("UTF-8");
    let output = run(&["doc", "quantization-v1", "--format", "html", "-o", to]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(std::fs::read_to_string(&page).expect("written").ends_with("</html>\n"));
    for (arguments, says) in [
        (["no-such-contract", "-o", to], "no-such-contract"),
        (["quantization-v1", "-o", directory.to_str().expect("UTF-8")], "it is a directory"),
        (["quantization-v1", "-o", "no/such/directory/page.md"], "can't be written"),
    ] {
        let output = run(&[&["doc"][..], &arguments].concat());
        let errors = err(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says), "{errors}");
    }
    assert!(std::fs::read_to_string(&page).expect("still there").ends_with("</html>\n"));
}
