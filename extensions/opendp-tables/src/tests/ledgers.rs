//! Test budgets that a ledger keeps after the process ends.

use super::*;

fn durable(folder: &std::path::Path, epsilon: f64) -> opendp_core::Result<Session> {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    metadata.budget.epsilon = Some(epsilon);
    metadata.budget.ledger = Some(folder.join("budget.ledger").to_string_lossy().into_owned());
    metadata.budget.name = Some("survey".into());
    created(&metadata);
    Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))])
}
fn created(metadata: &Metadata) {
    if !std::path::Path::new(metadata.budget.ledger.as_ref().unwrap()).exists() {
        metadata.create_budget().unwrap();
    }
}
#[test]
fn a_budget_of_a_ledger_is_spent_once_for_each_id() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |session: &Session, id: &str| {
        let question = session.query("SELECT COUNT(*), AVG(age) FROM people GROUP BY sex").unwrap();
        question.spending(Budget::epsilon(0.4).unwrap()).id(id).by("Ada").release()
    };
    let first = ask(&durable(folder.path(), 1.0).unwrap(), "week 1").unwrap();
    // In another session on the same ledger, the same id gives the same release.
    let session = durable(folder.path(), 1.0).unwrap();
    let again = ask(&session, "week 1").unwrap();
    assert_eq!(first.values, again.values);
    let left = |session: &Session| session.remaining().unwrap().show(false);
    // The query makes three noisy sums. Each sum spends at most a third of the epsilon 0.4. So at
    // least 0.6 is left.
    assert!(left(&session).starts_with("epsilon 0.6"), "{}", left(&session));
    ask(&session, "week 2").unwrap();
    let before = left(&session);
    assert!(before.starts_with("epsilon 0.2"), "{before}");
    assert_eq!(ask(&session, "week 3").unwrap_err().kind(), "BudgetExceeded");
    // The id of a release cannot be used for another question.
    let other = session.query("SELECT COUNT(*) FROM people").unwrap();
    let other = other.spending(Budget::epsilon(0.1).unwrap()).id("week 1").release();
    assert_eq!(other.unwrap_err().kind(), "Argument");
    assert_eq!(left(&session), before);
}
#[test]
fn a_table_that_the_budget_protects_does_not_become_public() {
    use super::sensitivity::zone_table;
    let folder = tempfile::tempdir().unwrap();
    let with = |zones: Table, name: &str| {
        let mut metadata = metadata(described(PrivacyUnit::id("pid", 2)));
        metadata.tables.insert("zones".into(), zones);
        let path = folder.path().join("budget.ledger");
        metadata.budget.ledger = Some(path.to_string_lossy().into_owned());
        metadata.budget.name = Some(name.into());
        metadata
    };
    let open = |zones: Table, name: &str| {
        let engine = Box::new(crate::DataFusion::new().unwrap());
        Session::with_engine(with(zones, name), engine).map(|_| ()).map_err(|e| e.to_string())
    };
    let private = Table::private(PrivacyUnit::id("pid", 1))
        .with("pid", Column::new(Type::Integer))
        .with("name", Column::new(Type::Text));
    with(private.clone(), "private").create_budget().unwrap();
    assert_eq!(open(private, "private"), Ok(()));
    let error = open(zone_table(), "private").unwrap_err();
    assert!(error.contains("the metadata declare it public"), "{error}");
    // The control: the table may be public if it was public when the budget was created.
    with(zone_table(), "public").create_budget().unwrap();
    assert_eq!(open(zone_table(), "public"), Ok(()));
}
#[test]
fn a_question_without_an_id_is_a_new_release_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let session = durable(folder.path(), 1.0).unwrap();
    for left in ["epsilon 0.75", "epsilon 0.5"] {
        let question = session.query("SELECT COUNT(*) FROM people").unwrap();
        question.spending(Budget::epsilon(0.25).unwrap()).release().unwrap();
        assert_eq!(session.remaining().unwrap().show(false), left);
    }
}
#[test]
fn a_ledger_with_another_budget_of_the_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    durable(folder.path(), 1.0).unwrap();
    assert_eq!(durable(folder.path(), 2.0).unwrap_err().kind(), "Argument");
}
#[test]
fn a_budget_of_a_ledger_for_another_unit_is_refused() {
    use opendp_ledger::{Ledger, Loss, Terms, Unit};
    let unit = |metric: &str, rows: u32| Unit::new(metric.into(), rows).unwrap();
    let open = |terms: Terms| {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("budget.ledger")).unwrap();
        ledger.create_with("survey", &Loss::epsilon("1").unwrap(), &terms).unwrap();
        drop(ledger);
        durable(folder.path(), 1.0).map(|_| ())
    };
    let (five, size) = (unit("symmetric_distance", 5), "it states a size or a digest");
    for (terms, difference) in [
        (Terms::new().with_unit(five), "it protects {\"rows\":5}"),
        (Terms::new().with_unit(unit("change_one_distance", 1)), "not list table `people`"),
        (Terms::new().with_unit(unit("symmetric_distance", 1)).with_size(1000), size),
        (Terms::new().with_digest(&"0".repeat(64)).unwrap(), size),
    ] {
        let error = open(terms).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("for another unit"), "{error}");
        assert!(error.to_string().contains(difference), "{error}");
        assert!(
            error.to_string().contains("must have the unit `rows = k`, where `k` is"),
            "{error}"
        );
    }
    // The control: a budget whose terms state the unit of the table is accepted.
    assert!(open(Terms::new().with_unit(unit("symmetric_distance", 1))).is_ok());
}
#[test]
fn a_session_without_its_budget_explains_and_does_not_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.toml");
    let text = "[budget]\nepsilon = 1.0\nledger = \"a.ledger\"\nname = \"a\"\n\
                [tables.t]\npath = \"t.csv\"\nunit = { rows = 1 }\n\
                [tables.t.columns]\nx = { type = \"integer\" }\n";
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("t.csv"), "x\n1\n").unwrap();
    let session = Session::open_to_explain(&path).unwrap();
    assert!(!session.has_budget());
    let ask = || {
        let question = session.query("SELECT COUNT(*) FROM t").unwrap();
        question.spending(Budget::epsilon(0.5).unwrap())
    };
    assert_eq!(ask().explain().unwrap().left.show(false), "epsilon 1");
    assert_eq!(ask().release().unwrap_err().kind(), "NotFound");
    assert_eq!(Session::open(&path).unwrap_err().kind(), "NotFound");
    assert!(!folder.path().join("a.ledger").exists());
}
#[test]
fn a_budget_belongs_to_the_individuals_for_which_it_was_created() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, unit: PrivacyUnit, rows: Option<u64>| {
        let mut metadata = metadata(described(unit));
        metadata.tables.get_mut("people").unwrap().rows = rows;
        metadata.budget.ledger = Some(folder.path().join(name).to_string_lossy().into_owned());
        metadata.budget.name = Some("survey".into());
        created(&metadata);
        Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))])
    };
    let by_id = |column: &str, rows: u32| PrivacyUnit::id(column, rows);
    assert!(open("rows", PrivacyUnit::rows(1), None).is_ok());
    assert!(open("id", by_id("pid", 2), None).is_ok());
    assert!(open("replaced", PrivacyUnit::rows(1), Some(1000)).is_ok());
    // The limit on rows is not a part of the unit: a query protects all rows of an id.
    assert!(open("id", by_id("pid", 7), None).is_ok());
    for (name, unit, rows) in [
        ("rows", PrivacyUnit::rows(7), None),
        ("rows", PrivacyUnit::rows(1), Some(1000)),
        ("rows", by_id("pid", 1), None),
        ("id", by_id("town", 2), None),
        ("id", PrivacyUnit::rows(1), None),
        ("replaced", PrivacyUnit::rows(2), Some(1000)),
        ("replaced", PrivacyUnit::rows(1), None),
    ] {
        let error = open(name, unit.clone(), rows).unwrap_err();
        assert_eq!(error.kind(), "Argument", "{name} {unit:?}");
        assert!(error.to_string().contains("for another unit: for table `people`"), "{error}");
    }
}
#[test]
fn a_budget_without_a_unit_admits_no_new_release() {
    use opendp_ledger::{Ledger, Loss, Terms};
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("budget.ledger")).unwrap();
    ledger.create_with("survey", &Loss::epsilon("1").unwrap(), &Terms::new()).unwrap();
    let session = durable(folder.path(), 1.0).unwrap();
    let question = session.query("SELECT COUNT(*) FROM people").unwrap();
    let error = question.spending(Budget::epsilon(0.25).unwrap()).release().unwrap_err();
    assert!(error.to_string().contains("states no unit"), "{error}");
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 1");
}
/// As texts, the ids `1` and `01` are two individuals. As integers, they are one individual. So the
/// type of the ids is a part of the unit of a budget.
#[test]
fn a_budget_states_the_type_of_its_ids() {
    use opendp_ledger::{Ledger, Loss, Terms, Unit};
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, id: &str, kind: Type| {
        let table = described(PrivacyUnit::id(id, 2)).with("pid", Column::new(kind));
        let mut metadata = metadata(table);
        metadata.budget.epsilon = Some(1.0);
        metadata.budget.ledger = Some(folder.path().join(name).to_string_lossy().into_owned());
        metadata.budget.name = Some("survey".into());
        created(&metadata);
        Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))])
    };
    let ask = |session: &Session| {
        let question = session.query("SELECT COUNT(*) FROM people").unwrap();
        question.spending(Budget::epsilon(0.25).unwrap()).release().map(|_| ())
    };
    ask(&open("new", "pid", Type::Integer).unwrap()).unwrap();
    let error = open("new", "pid", Type::Text).unwrap_err().to_string();
    assert!(error.contains("for another unit: for table `people`, it protects"), "{error}");
    assert!(error.contains(r#""type":"integer"}"#) && error.contains(r#""type":"text"}"#));
    // A budget without the type of its ids returns its earlier releases, and admits no new
    // releases.
    let ledger = Ledger::open(folder.path().join("old")).unwrap();
    let unit = Unit::new(serde_json::json!({"tables": {"people": {"id": "pid"}}}), 1).unwrap();
    let terms = Terms::new().with_unit(unit);
    ledger.create_with("survey", &Loss::epsilon("1").unwrap(), &terms).unwrap();
    let session = open("old", "pid", Type::Integer).unwrap();
    let error = ask(&session).unwrap_err().to_string();
    assert!(error.contains("states no type of its ids"), "{error}");
    assert_eq!(session.remaining().unwrap().show(false), "epsilon 1");
    let error = open("old", "town", Type::Integer).unwrap_err().to_string();
    assert!(error.contains("for another unit: for table `people`"), "{error}");
}
/// The warnings come before the charge, so the person who asks can still stop.
#[test]
fn warnings_come_before_the_charge_of_a_new_release() {
    let folder = tempfile::tempdir().unwrap();
    let memory = session(PrivacyUnit::rows(1));
    let durable = durable(folder.path(), 100.0).unwrap();
    for session in [&memory, &durable] {
        let whole = session.remaining().unwrap();
        let told = |epsilon: f64, id: &str| {
            let question = session.query("SELECT COUNT(*) FROM people").unwrap();
            let question = question.spending(Budget::epsilon(epsilon).unwrap()).id(id);
            let mut told = None;
            let warn = |cautions: &[String]| {
                told = Some((cautions.to_vec(), session.remaining().unwrap()));
            };
            question.release_with(warn).unwrap();
            told
        };
        let (cautions, left) = told(20.0, "large").unwrap();
        assert!(cautions[0].contains("epsilon is 20, which is above 10"), "{cautions:?}");
        assert_eq!(left, whole);
        assert!(session.remaining().unwrap() != whole);
        assert_eq!(told(1.0, "small").unwrap().0, Vec::<String>::new());
    }
    // The ledger returns an earlier release, and nothing is charged.
    let question = durable.query("SELECT COUNT(*) FROM people").unwrap();
    let question = question.spending(Budget::epsilon(20.0).unwrap()).id("large");
    question.release_with(|_| panic!("a warning about an earlier release")).unwrap();
}
#[test]
fn a_budget_for_rows_can_be_charged_by_other_programs() {
    use opendp_ledger::Ledger;
    let folder = tempfile::tempdir().unwrap();
    durable(folder.path(), 1.0).unwrap();
    let ledger = Ledger::open_existing(folder.path().join("budget.ledger")).unwrap();
    let terms = ledger.account("survey").unwrap().terms;
    let unit = terms.unit().unwrap();
    assert_eq!((unit.metric(), unit.d_in()), (&"symmetric_distance".into(), 1));
}
#[test]
fn an_id_belongs_to_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines).unwrap();
        Source::Csv(path.to_string_lossy().into_owned())
    };
    let people = |name: &str, line: &str| {
        write(name, &format!("pid,sex,town,age,income,employed\n{line}\n"))
    };
    let ask = |people: &Source, zones: &Source| {
        let mut metadata = metadata(described(PrivacyUnit::rows(1)));
        let ledger = folder.path().join("budget.ledger");
        metadata.budget.ledger = Some(ledger.to_string_lossy().into_owned());
        metadata.budget.name = Some("survey".into());
        metadata.tables.insert("zones".into(), super::sensitivity::zone_table());
        let sources = vec![("people".into(), people.clone()), ("zones".into(), zones.clone())];
        created(&metadata);
        let session = Session::new(metadata, sources).unwrap();
        let sql = "SELECT COUNT(*) FROM people JOIN zones ON town = name";
        let question = session.query(sql).unwrap();
        question.spending(Budget::epsilon(0.1).unwrap()).id("week 1").release()
    };
    let may = people("may.csv", "1,m,a,30,2.5,true");
    let zones = write("zones.csv", "name\na\nb\n");
    let first = ask(&may, &zones).unwrap();
    assert_eq!(ask(&may, &zones).unwrap().values, first.values);
    // The names of the tables stay the same, but a file is replaced: first the file of the private
    // table, and then the file of the public table.
    let june = people("june.csv", "2,f,b,40,1.5,false");
    assert_eq!(ask(&june, &zones).unwrap_err().kind(), "Argument");
    let fewer = write("fewer.csv", "name\nb\n");
    assert_eq!(ask(&may, &fewer).unwrap_err().kind(), "Argument");
}
/// Whether all records can be decoded depends on the data. So if a question fails because a record
/// cannot be decoded, its loss is charged, and the ledger keeps the refusal.
#[test]
fn records_that_cannot_be_decoded_are_charged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    let ask = |id: &str, portable: bool| {
        let mut metadata = metadata(described(PrivacyUnit::rows(1)));
        metadata.budget.epsilon = Some(1.0);
        let ledger = folder.path().join("budget.ledger");
        metadata.budget.ledger = Some(ledger.to_string_lossy().into_owned());
        metadata.budget.name = Some("survey".into());
        let engine = crate::DataFusion::new().unwrap();
        let engine = if portable { engine.portable() } else { engine };
        let source = Source::Csv(path.to_string_lossy().into_owned());
        let sources = vec![("people".into(), source)];
        created(&metadata);
        let session = Session::on(metadata, sources, Box::new(engine)).unwrap();
        let question = session.query("SELECT COUNT(age) FROM people").unwrap();
        let answer = question.spending(Budget::epsilon(0.25).unwrap()).id(id).release();
        (answer.map(|_| ()), session.remaining().unwrap().show(false))
    };
    let rows = b"pid,sex,town,age,income,employed\n1,m,a,30,2.5,true\n2,f,b,40,1.5,false\n";
    let (short, not_utf8) = (&b"3,f\n"[..], &b"3,f,\xff,1,1,true\n"[..]);
    for (id, portable, bad, left) in [
        ("short", false, short, "epsilon 0.75"),
        ("not UTF-8", false, not_utf8, "epsilon 0.5"),
        ("short, by statements", true, short, "epsilon 0.25"),
    ] {
        std::fs::write(&path, [&rows[..], bad].concat()).unwrap();
        // The second question has the same id, so it costs nothing.
        for _ in 0..2 {
            let (answer, rest) = ask(id, portable);
            let error = answer.unwrap_err();
            assert_eq!((error.kind(), rest.as_str()), ("Argument", left), "{id}: {error}");
            assert!(error.to_string().contains("The budget is charged"), "{error}");
        }
    }
    // The control: without a bad record, there is an answer.
    std::fs::write(&path, rows).unwrap();
    let (answer, rest) = ask("whole", false);
    assert!(answer.is_ok() && rest == "epsilon 0", "{rest}");
}
#[test]
fn a_release_is_returned_although_a_key_of_a_public_table_is_no_longer_unique() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines).unwrap();
        Source::Csv(path.to_string_lossy().into_owned())
    };
    let people = write("people.csv", "pid,sex,town,age,income,employed\n1,m,a,30,2.5,true\n");
    let ask = |zones: &str, id: &str| {
        let mut metadata = metadata(described(PrivacyUnit::rows(1)));
        let ledger = folder.path().join("budget.ledger");
        metadata.budget.ledger = Some(ledger.to_string_lossy().into_owned());
        metadata.budget.name = Some("survey".into());
        metadata.tables.insert("zones".into(), super::sensitivity::zone_table());
        let zones = write("zones.csv", zones);
        let sources = vec![("people".into(), people.clone()), ("zones".into(), zones)];
        created(&metadata);
        let session = Session::new(metadata, sources).unwrap();
        let sql = "SELECT COUNT(*) FROM people JOIN zones ON town = name";
        let question = session.query(sql).unwrap();
        let answer = question.spending(Budget::epsilon(0.1).unwrap()).id(id).release();
        (answer, session.remaining().unwrap())
    };
    let (first, left) = ask("name\na\nb\n", "week 1");
    let (again, after) = ask("name\na\na\n", "week 1");
    assert_eq!((again.unwrap().values, &after), (first.unwrap().values, &left));
    // The control: a new release with the changed table is refused, and nothing is charged.
    let (other, after) = ask("name\na\na\n", "week 2");
    assert!(other.unwrap_err().to_string().contains("has a value of `name` twice"));
    assert_eq!(after, left);
}
