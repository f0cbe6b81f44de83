//! Tests that the folder `examples/people` has the generated people, and the documents of the
//! README.

use opendp_examples::population;

/// Return a CSV file of the people that `population` generates.
fn csv(people: usize) -> String {
    let table = population::generate(people, 1);
    let mut text = "age,sex,educ,race,income,married\n".to_owned();
    for k in 0..people {
        let (age, sex, educ, race) = (table.age[k], table.sex[k], table.educ[k], table.race[k]);
        let (income, married) = (table.income[k], table.married[k]);
        text += &format!("{age},{sex},{educ},{race},{income},{married}\n");
    }
    text
}

/// With `UPDATE_PEOPLE=1`, write the table instead.
#[test]
fn the_table_has_the_generated_people() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/people/people.csv");
    if std::env::var_os("UPDATE_PEOPLE").is_some() {
        std::fs::write(path, csv(1000)).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == csv(1000), "{path} has other people");
}

#[test]
fn the_documents_are_those_of_the_readme() {
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let files = [
        include_str!("../../people/study.json"),
        include_str!("../../people/mean.json"),
        include_str!("../../people/total.json"),
    ];
    assert_eq!(blocks.collect::<Vec<_>>(), files);
}
