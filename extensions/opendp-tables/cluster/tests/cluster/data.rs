//! The tables of the tests, and the exact results of queries.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use opendp_tables::{Cells, DataFusion, Dialect, Engine, Metadata, Session, Source};

/// A folder with tables in CSV and Parquet, and with their metadata.
pub(crate) struct Data(tempfile::TempDir);

const COLUMNS: &str = r#"
pid = { type = "integer" }
sex = { type = "text", keys = ["f", "m", "x"] }
zip = { type = "text" }
age = { type = "integer", bounds = [0, 100], candidates = [10, 20, 30, 40, 50, 60, 70, 80] }
income = { type = "float", bounds = [0, 1000] }
employed = { type = "boolean" }
day = { type = "date", lower = "2023-11-01", upper = "2024-03-31" }
arrived = { type = "timestamp" }
"#;
impl Data {
    /// Write rows of people. Some rows have no id, and some cells are missing or of another type.
    pub(crate) fn of(rows: u64) -> Data {
        let folder = tempfile::tempdir().unwrap();
        let mut text = String::from("pid,sex,zip,age,income,employed,day,arrived\n");
        for row in 0..rows {
            let dice = |sides: u64, salt: u64| mixed(row * 31 + salt) % sides;
            let pid = if dice(20, 1) == 0 { String::new() } else { dice(rows / 3, 2).to_string() };
            let sex = ["f", "m", "z", ""][dice(4, 3) as usize];
            let age = ["", "old"].get(dice(40, 4) as usize).map(|cell| (*cell).to_owned());
            let age = age.unwrap_or_else(|| (dice(130, 5) as i64 - 10).to_string());
            let income = ["NaN", "inf", "-inf", "", "1e300"].get(dice(50, 6) as usize);
            let income = income.map(|cell| (*cell).to_owned());
            let income = income.unwrap_or_else(|| format!("{:e}", dice(13_000, 7) as f64 / 11.0));
            let employed = ["true", "false", "maybe"][dice(3, 8) as usize];
            let zip = format!("\"zip \"\"{}\"\"\"", dice(9, 9));
            let day = ["", "2024-02-30", "9999-12-31", "0001-01-01"].get(dice(40, 10) as usize);
            let day = day.map(|cell| (*cell).to_owned());
            let day = day
                .unwrap_or_else(|| format!("2024-{:02}-{:02}", 1 + dice(4, 11), 1 + dice(29, 12)));
            let arrived = format!("{day} {:02}:{:02}:00", dice(25, 13), dice(60, 14));
            let _ = writeln!(text, "{pid},{sex},{zip},{age},{income},{employed},{day},{arrived}");
        }
        std::fs::write(folder.path().join("people.csv"), text).unwrap();
        let regions: String = (0..7)
            .map(|k| format!("\"zip \"\"{k}\"\"\",{}\n", ["north", "south"][k % 2]))
            .collect();
        std::fs::write(folder.path().join("regions.csv"), format!("zip,region\n{regions}"))
            .unwrap();
        let data = Data(folder);
        data.write_parquet();
        data
    }
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
    /// Write the rows of `people.csv` also as three Parquet files in a folder.
    fn write_parquet(&self) {
        let config = self.config("parts", "people.csv", "{ rows = 1 }", "");
        let metadata = Metadata::parse(&std::fs::read_to_string(config).unwrap()).unwrap();
        let engine = DataFusion::new().unwrap();
        let csv = self.path().join("people.csv").to_str().unwrap().to_owned();
        engine.register("people", &metadata.tables["people"], Source::Csv(csv)).unwrap();
        let folder = self.path().join("people");
        std::fs::create_dir(&folder).unwrap();
        for part in 0..3 {
            let file = folder.join(format!("{part}.parquet"));
            let statement = format!(
                "COPY (SELECT pid, sex, zip, age, income, employed, CAST(CAST(day AS INT) AS DATE) \
                 AS day, arrow_cast(arrived, 'Timestamp(Microsecond, None)') AS arrived FROM people \
                 WHERE abs(coalesce(age, 0)) % 3 = {part}) TO '{}' STORED AS PARQUET",
                file.display()
            );
            let context = engine.context();
            engine.wait(async { context.sql(&statement).await?.collect().await }).unwrap();
        }
    }
    /// Write metadata, and return the path of the file.
    pub(crate) fn config(&self, name: &str, path: &str, unit: &str, budget: &str) -> PathBuf {
        let text = format!(
            "[budget]\nepsilon = 1e13\n{budget}\n[tables.people]\npath = \"{path}\"\nunit = {unit}\n\
             [tables.people.columns]{COLUMNS}\n[tables.regions]\npath = \"regions.csv\"\n\
             public = true\nkey = \"zip\"\n[tables.regions.columns]\nzip = {{ type = \"text\" }}\n\
             region = {{ type = \"text\", keys = [\"north\", \"south\"] }}\n"
        );
        let file = self.path().join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        file
    }
}
/// Mix the bits of a number with the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
/// Return the exact results of a query. The order of the results does not depend on the engine.
/// This function uses the same seed for all sessions, so all sessions choose the same rows.
pub(crate) fn exact(session: &Session, engine: &dyn Engine, sql: &str) -> Vec<Vec<Cells>> {
    let statements = session.statements(sql, Dialect::DataFusion).unwrap().with_seed("0");
    let all = statements.sums.iter().chain(&statements.buckets);
    let run = |statement: &String| {
        let mut rows = engine.run(statement).unwrap_or_else(|error| panic!("{sql}\n{error}"));
        rows.sort();
        rows
    };
    all.map(run).collect()
}
