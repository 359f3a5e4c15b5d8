//! `roofline contract doc`.

use crate::program::{SAMPLE, file, json, printed};
use roofline_test_support::scratch;

/// Prints the documentation of a contract.
fn doc(arguments: &[&str]) -> String {
    printed(&[&["contract", "doc"], arguments].concat())
}

/// The pages remain in `target/tmp/cli/contracts` for releases.
#[test]
fn pages_of_built_in_contracts_have_all_names_and_verdicts() {
    let directory = scratch::directory("contracts");
    for (name, text) in roofline_contracts::library::BUILT_IN {
        let page = directory.join(name).with_extension("md");
        let page = page.to_str().expect("a plain path");
        doc(&[name, "-o", page]);
        let page = std::fs::read_to_string(page).expect("written");
        let proven = json(&["contract", "prove", name]);
        let obligations = proven["contracts"][0]["obligations"].as_array().expect("a list");
        for obligation in obligations {
            let [id, verdict] = ["id", "verdict"].map(|key| obligation[key].as_str().expect("a word"));
            let row = page.lines().find(|line| line.starts_with(&format!("| `{id}` |")));
            assert!(
                row.is_some_and(|row| row.contains(&format!(" | {verdict} | "))),
                "{name}: {id}: {row:?}"
            );
        }
        let contract: serde_yaml::Value = serde_yaml::from_str(text).expect("YAML");
        let keys = |map: &serde_yaml::Value| -> Vec<String> {
            let keys = map.as_mapping().into_iter().flat_map(|map| map.keys());
            keys.map(|key| key.as_str().expect("a name").to_owned()).collect()
        };
        let tables = &contract["profiles"];
        let entries = keys(tables).into_iter().flat_map(|table| keys(&tables[table.as_str()]["entries"]));
        for section in ["quantities", "equations", "classifiers", "recommendations"] {
            for named in keys(&contract[section]) {
                assert!(page.contains(&format!("`{named}`")), "{name}: {named}");
            }
        }
        for named in entries {
            assert!(page.contains(&format!("\n| `{named}` |")), "{name}: {named}");
        }
    }
}

/// Tags are properly nested and nothing is fetched.
#[test]
fn the_html_page_is_well_formed_and_self_contained() {
    // Text with special characters of both formats.
    let nasty = r#"'<script>alert(1)</script> & "x" $1_2^3 `c` | %~#{} *b* [l](u)'"#;
    let text = std::fs::read_to_string(SAMPLE).expect("read");
    let text = text.replace("doc: Bytes that are moved.", &format!("doc: {nasty}"));
    let text = text.replace("description: A sample", &format!("description: {nasty}"));
    let text = text.replace("source: data sheet", &format!("source: {nasty}"));
    let path = file("html.yaml", text);
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
        for part in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!html.contains(part), "{contract}: {part}");
        }
    }
}
