//! Tests that the pages in `docs/reference` equal the pages that the command writes.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value as Json;

use crate::Desk;

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
const ADVICE: &str = "run: cargo run -p opendp-cli -- reference docs/reference";

fn names(folder: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_pages_of_the_reference_are_current() {
    let desk = Desk::new();
    desk.says(&["reference", "pages"]);
    let written = desk.0.path().join("pages");
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let pages = Path::new(PAGES);
    assert_eq!(names(pages), names(&written), "other pages; {ADVICE}");
    for name in names(&written) {
        assert!(read(pages, &name) == read(&written, &name), "{name} is outdated; {ADVICE}");
    }
}
#[test]
fn each_constructor_has_an_entry_in_the_index_a_section_and_an_example() {
    let desk = Desk::new();
    let list: Json = serde_json::from_str(&desk.says(&["list", "--json"])).unwrap();
    let index = std::fs::read_to_string(Path::new(PAGES).join("README.md")).unwrap();
    // Some constructors take functions of users. Such functions are values of a program, so a
    // document cannot contain them. These constructors need no example.
    let of_users = |name: &str| name.contains("user_") || name.starts_with("new_");
    let mut without = Vec::new();
    for constructor in list.as_array().unwrap() {
        let listed = constructor["name"].as_str().unwrap();
        for name in constructor["names"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let row = index.lines().find(|line| line.starts_with(&format!("| [`{name}`](")));
            let row = row.unwrap_or_else(|| panic!("{name} is not in the index; {ADVICE}"));
            let target = row.split('(').nth(1).unwrap().split(')').next().unwrap();
            let (page, place) = target.split_once('#').unwrap();
            assert_eq!(place, listed.to_lowercase());
            let page = std::fs::read_to_string(Path::new(PAGES).join(page)).unwrap();
            let section =
                page.split(&format!("\n## {listed}\n")).nth(1).unwrap_or_else(|| panic!("{name}"));
            let section = section.split("\n## ").next().unwrap();
            assert!(section.contains(listed) && section.contains("```text"), "{name}");
            if !section.contains("```json") {
                without.push(name.to_owned());
            }
        }
    }
    without.retain(|name| !of_users(name));
    assert!(without.is_empty(), "no example in opendp-registry/examples.json: {without:?}");
}
