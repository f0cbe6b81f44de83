//! Tests of the guide for authors of mechanisms. Each block of code is a test or a quote.

use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A block of code, with its language, its text, and the nearest line above the block that is not
/// empty.
struct Block<'a> {
    language: &'a str,
    text: String,
    above: &'a str,
}
fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut found, mut above, mut lines) = (Vec::new(), "", page.lines());
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push(Block { language, text: text.join("\n"), above });
        } else if !line.is_empty() {
            above = line;
        }
    }
    found
}
/// Check that each block is a test or a quote. The line above a quote names a file, and this file
/// must contain the quote. Return the number of quotes, or an error for the first wrong block.
fn stray(page: &str) -> Result<usize, String> {
    let mut quotes = 0;
    for block in blocks(page) {
        match block.language {
            // Rustdoc tests the blocks in `rust`, and `.ci/template` runs the blocks in `sh`.
            // Rustdoc does not test blocks in `rs`.
            "rust" | "sh" => continue,
            "rs" | "json" | "python" => {}
            other => return Err(format!("a block in `{other}`: write a quote or a test")),
        }
        let file = block.above.strip_prefix('`').and_then(|line| line.strip_suffix("`:"));
        let file = file.ok_or(format!("no file is named above the block\n{}", block.text))?;
        let source = std::fs::read_to_string(Path::new(ROOT).join(file))
            .map_err(|error| format!("{file}: {error}"))?;
        // Compare whole lines, so that a quote cannot end within a word.
        if !format!("\n{source}\n").contains(&format!("\n{}\n", block.text)) {
            return Err(format!("{file} does not contain\n{}", block.text));
        }
        quotes += 1;
    }
    Ok(quotes)
}

#[test]
fn every_block_is_compiled_or_is_a_part_of_the_file_above_it() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/mechanism-authors.md")).unwrap();
    let quotes = stray(&page).unwrap_or_else(|broken| panic!("{broken}"));
    assert!(20 <= quotes, "{quotes}");
    // The controls: three wrong pages. One has a changed line, one names no file, and one has a
    // block in another language.
    let changed = page.replacen("*larger < self.nodes", "*larger <= self.nodes", 1);
    assert!(stray(&changed).unwrap_err().contains("does not contain"));
    let unnamed = page.replacen("graph_domain.rs`:", "graph_domain.rs`.", 1);
    assert!(stray(&unnamed).unwrap_err().contains("no file is named"));
    assert!(stray("```text\nany\n```").is_err());
}
#[test]
fn every_file_of_the_crate_that_has_a_part_in_it_is_in_the_guide() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/mechanism-authors.md")).unwrap();
    for part in [
        "graph",
        "graph_domain",
        "edge_distance",
        "gaussian_tradeoff",
        "edge_count",
        "flip_probability",
        "randomized_graph",
        "repeat",
        "graph_samples",
    ] {
        let file = format!("`examples/custom-mechanism/src/{part}.rs`:");
        assert!(page.contains(&file), "{file}");
    }
}
